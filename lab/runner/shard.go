package runner

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Shard is the part of all tasks that one of Count machines does. Tasks are dealt out in turn, so
// that the cells and seeds of an experiment spread evenly. The zero Shard does all.
type Shard struct {
	Index int // 0 … Count-1
	Count int
}

// Has reports whether the shard does the task with a given index in the list of all tasks.
func (s Shard) Has(place int) bool { return s.Count <= 1 || place%s.Count == s.Index }

// String returns the text that ParseShard parses.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, max(s.Count, 1)) }

// ParseShard parses index/count, the index counted from 0: 0/4, 1/4, 2/4, 3/4.
func ParseShard(text string) (Shard, error) {
	index, count, _ := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if err1 != nil || err2 != nil || i < 0 || i >= n {
		return Shard{},
			fmt.Errorf("runner: shard %q: want index/count, the index from 0, such as 0/4", text)
	}
	return Shard{i, n}, nil
}

// ShardOf returns the shard that a scheduler's environment variables set: a SLURM job array
// (SLURM_ARRAY_TASK_ID, _MIN, _STEP and _COUNT), or a Kubernetes Job of completion mode Indexed
// (JOB_COMPLETION_INDEX). Kubernetes sets no count: the Job's manifest has to put its completions
// into JOB_COMPLETIONS. Without a scheduler it returns the zero Shard.
func ShardOf(getenv func(string) string) (Shard, error) {
	switch {
	case getenv("SLURM_ARRAY_TASK_ID") != "":
		return slurmShard(getenv)
	case getenv("JOB_COMPLETION_INDEX") == "":
		return Shard{}, nil
	case getenv("JOB_COMPLETIONS") == "":
		return Shard{}, errors.New("runner: JOB_COMPLETION_INDEX is set but not JOB_COMPLETIONS, " +
			"which the Job has to set to its number of completions; or give --shard index/count")
	}
	s, err := ParseShard(getenv("JOB_COMPLETION_INDEX") + "/" + getenv("JOB_COMPLETIONS"))
	if err != nil {
		return Shard{}, fmt.Errorf("%w (JOB_COMPLETION_INDEX/JOB_COMPLETIONS)", err)
	}
	return s, nil
}

// slurmShard counts the tasks of an array from 0, whatever its first index.
func slurmShard(getenv func(string) string) (Shard, error) {
	var bad error
	number := func(name string, missing int) int {
		text := getenv(name)
		if text == "" {
			return missing
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			bad = fmt.Errorf("runner: %s=%q is not a number", name, text)
		}
		return n
	}
	id, low := number("SLURM_ARRAY_TASK_ID", 0), number("SLURM_ARRAY_TASK_MIN", 0)
	step, count := number("SLURM_ARRAY_TASK_STEP", 1), number("SLURM_ARRAY_TASK_COUNT", 0)
	if bad != nil {
		return Shard{}, bad
	}
	if step < 1 || id < low || (id-low)%step != 0 || (id-low)/step >= count {
		return Shard{}, fmt.Errorf("runner: task %d of a SLURM array of %d from %d by %d: "+
			"the array has to be a range, such as --array=0-9; or give --shard index/count", id,
			count, low, step)
	}
	return Shard{(id - low) / step, count}, nil
}
