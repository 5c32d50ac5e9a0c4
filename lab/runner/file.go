package runner

import (
	"fmt"
	"os"
	"path/filepath"
)

// writeFile puts a file into its place at once: whoever reads sees all of it or what was before.
func writeFile(path string, data []byte) error {
	return replace(path, func(beside string) error { return os.WriteFile(beside, data, 0o644) })
}

// replace is writeFile of what write puts into the file of the name that it gets.
func replace(path string, write func(beside string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	f.Close()
	defer os.Remove(f.Name()) // when it is still there
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
