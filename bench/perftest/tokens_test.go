package perftest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without tokens at the peer (no flag, or an OFED peer) the run continues without them and prints a
// note. With tokens at both ends there is no note.
func TestTokensNeedBothEnds(t *testing.T) {
	for _, c := range []struct {
		name           string
		ends           func(*testing.T) ends
		client, server string // flags
		host           string
		says           string // printed at the end that has the flag
	}{
		{"both", newEnds, "--tocc unsch=0", "--tocc k=8192", "", ""},
		{"the client alone", newEnds, "--tocc unsch=0", "", "",
			"going on without tokens: the peer was started without --tocc"},
		{"the server alone", newEnds, "", "--tocc unsch=0", "",
			"going on without tokens: the peer was started without --tocc"},
		{"upstream", newEnds, "--tocc unsch=0 --upstream", "--tocc unsch=0", "",
			"going on without tokens: linux-rdma's perftest does not support it"},
		{"the client alone, credits", newEnds, "--carc llc=4MiB --write_with_imm",
			"--write_with_imm", "",
			"going on without credits: the peer was started without --carc"},
		{"the RDMA CM", newEndsCM, "--tocc unsch=0", "", "10.0.0.1",
			"going on without tokens: --rdma_cm does not negotiate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.ends(t)
			args := []string{"-n", "100", "-s", "20000", "--out_json_file", "-"}
			with := func(flags string, more []string) []string {
				return append(append(append([]string{}, args...), strings.Fields(flags)...),
					more...)
			}
			end := w.client
			if c.host != "" {
				end = append(append([]string{}, end...), c.host)
			}
			client := start(t, writeBW, with(c.client, end)...)
			server := start(t, writeBW, with(c.server, w.server)...)
			require.Zero(t, client.ends(patience), client.result())
			require.Zero(t, server.ends(patience), server.result())
			for p, flags := range map[*program]string{client: c.client, server: c.server} {
				switch tokens, credits := strings.Contains(flags, "--tocc"), strings.Contains(flags,
					"--carc"); {
				case tokens && c.says != "":
					require.Contains(t, p.result(), "roce_write_bw: --tocc unsch=0: "+c.says)
				case tokens:
				case credits:
					require.Contains(t, p.result(), "roce_write_bw: --carc llc=4MiB: "+c.says)
					require.NotContains(t, p.result(), " within the cache of ")
				default:
					require.NotContains(t, p.result(), "tokens")
					require.NotContains(t, p.result(), "credits")
				}
				require.Equal(t, c.says == "", strings.Contains(p.result(), `"tokens": `),
					p.result())
				require.Equal(t, c.says == "", strings.Contains(p.result(), " on tokens of "),
					p.result())
			}
		})
	}
}
