package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// Code identifies the code that did a task.
type Code struct {
	// ID is the commit or, if files were changed after it, the hash of the executable.
	ID string `json:"id"`
	// Commit is the commit, followed by "+changes" if files were changed after it; "unknown" in a
	// binary that was built without version control.
	Commit string `json:"commit"`
}

// ThisCode returns the code of the running program.
func ThisCode() (Code, error) {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	if commit != "" && settings["vcs.modified"] == "false" {
		return Code{ID: commit, Commit: commit}, nil
	}
	hash, err := executableHash()
	if err != nil {
		return Code{}, fmt.Errorf("runner: identifying the code: %w", err)
	}
	if commit == "" {
		return Code{ID: hash, Commit: "unknown"}, nil
	}
	return Code{ID: hash, Commit: commit + "+changes"}, nil
}

func executableHash() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
