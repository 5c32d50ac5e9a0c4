package runner

import (
	"fmt"
	"os"
	"path/filepath"
)

// writeFile replaces a file atomically: readers see the new content or the old.
func writeFile(path string, data []byte) error {
	return replace(path, func(beside string) error { return os.WriteFile(beside, data, 0o644) })
}

// replace is writeFile for the content that write puts into the file whose name it is given.
func replace(path string, write func(beside string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	f.Close()
	defer os.Remove(f.Name()) // if it still exists
	if err := write(f.Name()); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	return nil
}
