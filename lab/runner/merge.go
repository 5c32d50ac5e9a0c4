package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Merge copies the records of an experiment from one directory to another. It replaces a record
// only if that is of a failed task and the new one is of a task that succeeded. Directories of
// different plans do not merge.
func Merge(into, from, id string) error {
	theirs, err := readPlan(from, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours, err := readPlan(into, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := copyFile(planPath(into, id), planPath(from, id)); err != nil {
			return err
		}
	case err != nil:
		return err
	case !ours.equal(theirs):
		return fmt.Errorf(
			"runner: %s: %s has scale %s and seeds %d, but %s has scale %s and seeds %d",
			id, into, ours.Scale, ours.Seeds, from, theirs.Scale, theirs.Seeds)
	}
	jobs, err := os.ReadDir(filepath.Join(Path(from, id), "jobs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("runner: %w", err)
	}
	for _, job := range jobs {
		if filepath.Ext(job.Name()) != ".json" {
			continue // half a file, left by a process that was killed
		}
		source := filepath.Join(Path(from, id), "jobs", job.Name())
		target := filepath.Join(Path(into, id), "jobs", job.Name())
		if endedWell(target) || fileExists(target) && !endedWell(source) {
			continue
		}
		if err := copyFile(target, source); err != nil {
			return err
		}
	}
	return nil
}

func endedWell(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	f, err := decodeJob(text)
	return err == nil && f.Error == ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func copyFile(target, source string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	return writeFile(target, text)
}

// Found returns the ids of the experiments that a directory has files of, sorted.
func Found(dir string) ([]string, error) {
	papers, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	var ids []string
	for _, paper := range papers {
		figures, err := os.ReadDir(filepath.Join(dir, paper.Name()))
		if err != nil {
			continue // a file
		}
		for _, figure := range figures {
			id := paper.Name() + "/" + figure.Name()
			if fileExists(planPath(dir, id)) || fileExists(filepath.Join(Path(dir, id),
				"claims.json")) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}
