// Package hugepage asks the kernel for huge pages under memory that is used at random. With pages
// of 4 KiB such memory misses the processor's translation buffers, in a virtual machine at twice
// the cost.
//
// The memory may be of Go's heap. MAP_HUGETLB could not serve that: the garbage collector does not
// look for pointers in memory that is mapped otherwise. Advice makes huge pages of it in place.
package hugepage

// pageSize is the size of a huge page of amd64 and arm64.
const pageSize = 2 << 20
