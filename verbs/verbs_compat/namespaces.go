package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// namespaces are two network namespaces that a veth connects.
type namespaces struct{ names [2]string }

// veth is the name of the interface in each.
const veth = "roce0"

// newNamespaces makes them, with the addresses of the two sides.
func newNamespaces() (*namespaces, error) {
	n := &namespaces{}
	for i := range n.names {
		n.names[i] = fmt.Sprintf("verbs-compat-%d-%d", os.Getpid(), i)
		if err := ip("netns add " + n.names[i]); err != nil {
			return nil, errors.Join(err, n.close())
		}
	}
	commands := []string{fmt.Sprintf("link add %s netns %s type veth peer name %s netns %s", veth,
		n.names[0], veth, n.names[1])}
	for i, address := range []string{serverAddress, clientAddress} {
		in := "-n " + n.names[i] + " "
		commands = append(commands, in+"addr add "+address+"/15 dev "+veth, in+"link set lo up",
			in+"link set "+veth+" up")
	}
	for _, c := range commands {
		if err := ip(c); err != nil {
			return nil, errors.Join(err, n.close())
		}
	}
	return n, nil
}

// prefix returns the command that runs another one in a namespace.
func (n *namespaces) prefix(i int) []string { return []string{"ip", "netns", "exec", n.names[i]} }

// close removes the namespaces.
func (n *namespaces) close() (err error) {
	if n == nil {
		return nil
	}
	for _, name := range n.names {
		if name != "" {
			err = errors.Join(err, ip("netns del "+name))
		}
	}
	return err
}

func ip(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, strings.TrimSpace(string(out)))
	}
	return nil
}
