#ifndef GOROCE_SYSFS_FILES_H
#define GOROCE_SYSFS_FILES_H

/* gr_sysfs_text returns what a file of the device has, or NULL for other paths. */
const char *gr_sysfs_text(const char *path);

#endif
