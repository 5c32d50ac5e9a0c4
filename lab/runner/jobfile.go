package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/goroce/goroce/lab/experiment"
)

// jobFile is what is kept of a task.
type jobFile struct {
	Setup   json.RawMessage    `json:"setup"`
	Code    Code               `json:"code"`
	Seconds float64            `json:"seconds"` // core time
	Error   string             `json:"error,omitempty"`
	Record  *experiment.Record `json:"record,omitempty"` // without an error
}

// decodeJob reads a job file.
func decodeJob(text []byte) (*jobFile, error) {
	f := &jobFile{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, err
	}
	if (f.Error == "") == (f.Record == nil) {
		return nil, errors.New("want either an error or a record")
	}
	return f, nil
}

func (f *jobFile) encode() ([]byte, error) {
	text, err := json.Marshal(f)
	return append(text, '\n'), err
}

// path returns where a directory keeps the task's record. The cell name is escaped, so any name
// makes a file name.
func (t Task) path(dir string) string {
	name := fmt.Sprintf("%s-%d.json", url.PathEscape(t.Cell.Name), t.Seed)
	return filepath.Join(Path(dir, t.Plan.Experiment.ID), "jobs", name)
}

// load returns the file of the task in a directory. It returns nil if there is none, if it is
// unreadable, or if it is of another set-up: then the task has to be done.
func (t Task) load(dir string) *jobFile {
	text, err := os.ReadFile(t.path(dir))
	if err != nil {
		return nil
	}
	f, err := decodeJob(text)
	if err != nil || !bytes.Equal(f.Setup, t.setup) {
		return nil
	}
	return f
}
