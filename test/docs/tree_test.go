package docs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/goroce/goroce/dpdk" // so that make test runs no other test beside these programs
)

// mains are the packages of the programs that the pages name. Those of bench/goroce are links
// to it.
var mains = []string{"./bench/busyhost", "./bench/goroce", "./bench/roce_impair",
	"./bench/roce_trace",
	"./bytetuning/cmd/bytetuning", "./lab", "./lab/papers/prioplus/fig8", "./test/chaos",
	"./test/interop", "./test/soak", "./verbs/roce_run", "./verbs/roced"}

// tree is a copy of the source with the programs in bin/. All tests of a process share it.
var tree struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if tree.dir != "" {
		_ = os.RemoveAll(tree.dir)
	}
	os.Exit(code)
}

// source returns the directory of the copy.
func source(t *testing.T) string {
	tree.once.Do(func() {
		if tree.dir, tree.err = os.MkdirTemp("", "goroce-docs"); tree.err == nil {
			tree.err = errors.Join(copySource(tree.dir), buildPrograms(tree.dir))
		}
	})
	require.NoError(t, tree.err)
	return tree.dir
}

// copySource copies what is not made by a build.
func copySource(to string) error {
	made := []string{".git", "bin", "lib", ".cache", "site/node_modules", "site/content"}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(made, rel) && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, info.Mode())
	})
}

// program is one of those of bench/goroce, in its help.
var program = regexp.MustCompile(`(?m)^  (roce_\S+)`)

func buildPrograms(dir string) error {
	build := exec.Command("go", append([]string{"build", "-o", "bin/"}, mains...)...)
	build.Dir = dir
	build.Env = environment()
	if out, err := build.CombinedOutput(); err != nil {
		return errors.New(string(out))
	}
	list, err := exec.Command(filepath.Join(dir, "bin", "goroce"), "--help").Output()
	if err != nil {
		return err
	}
	for _, m := range program.FindAllStringSubmatch(string(list), -1) {
		if err := os.Symlink("goroce", filepath.Join(dir, "bin", m[1])); err != nil {
			return err
		}
	}
	return nil
}

// environment returns that of the commands. What make builds is used again with -trimpath.
func environment() []string { return append(os.Environ(), "GOFLAGS=-trimpath") }

// isolated is the beginning of a command that has a network of its own, and takes its processes
// with it when it is killed; it is empty where the machine permits neither.
var isolated = sync.OnceValue(func() []string {
	namespaces := []string{"unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"}
	for _, c := range [][]string{namespaces, append(namespaces, "--map-root-user")} {
		if exec.Command(c[0], append(slices.Clone(c[1:]), "true")...).Run() == nil {
			return c
		}
	}
	return nil
})

// bash runs a script in the copy of the source.
func bash(t *testing.T, script string, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	args := append(slices.Clone(isolated()), "bash", "-c", script)
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.Env, c.WaitDelay = source(t), environment(), 5*time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	lines := strings.Split(out.String(), "\n")
	require.NoError(t, err, "%s", strings.Join(lines[max(0, len(lines)-60):], "\n"))
}
