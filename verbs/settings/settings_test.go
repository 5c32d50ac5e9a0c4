package settings

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
)

func TestParseFaults(t *testing.T) {
	o, err := ParseFaults("loss=0.1%,dup=0.25,corrupt=1e-4,delay=2%,seed=7")
	require.NoError(t, err)
	require.Equal(t, uint64(7), o.Seed)
	want := packet.FaultRates{Lose: 0.001, Duplicate: 0.25, Corrupt: 1e-4, Delay: 0.02}
	require.InDeltaSlice(t, []float64{want.Lose, want.Duplicate, want.Corrupt, want.Delay},
		[]float64{o.Send.Lose, o.Send.Duplicate, o.Send.Corrupt, o.Send.Delay}, 1e-12)
	require.Equal(t, o.Send, o.Recv)

	for text, want := range map[string]string{
		"lose=1":            `"lose", want loss, dup`,
		"loss":              `loss: probability ""`,
		"loss=2":            `probability "2", want 0 to 1`,
		"loss=-1%":          `probability "-1%"`,
		"loss=nan":          `probability "nan"`,
		"seed=x":            `seed "x" is not a number`,
		"loss=0.6,dup=0.6":  "sum to 1.2",
		"loss=0.1,,dup=0.1": `"", want loss`,
	} {
		_, err := ParseFaults(text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzParseFaults(f *testing.F) {
	for _, s := range []string{"loss=0.1%,seed=7", "dup=1", "=", "loss=0.1%%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseFaults(text)
		if err != nil {
			return
		}
		port, _ := packet.Pipe(packet.PipeOptions{})
		_, err = packet.NewFaults(port, o)
		require.NoError(t, err, "accepted here, refused by the port")
	})
}

// Settings survive the environment.
func TestEnvironment(t *testing.T) {
	s := &Settings{Port: "memif:/tmp/a,client", IP: "10.0.0.1/24,fd00::1/64", Faults: "loss=1%"}
	env := map[string]string{}
	for _, v := range s.Environment() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	require.Equal(t, s, FromEnvironment(func(name string) string { return env[name] }))
	require.NoError(t, s.Check())
	addrs, err := s.Addrs()
	require.NoError(t, err)
	require.Len(t, addrs, 2)
}

func TestAddrs(t *testing.T) {
	for url, want := range map[string]string{"memif:/tmp/a": "198.18.0.1/15",
		"memif:/tmp/a,client": "198.18.0.2/15", "memif:/tmp/a,id=1,client": "198.18.0.2/15"} {
		addrs, err := (&Settings{Port: url}).Addrs()
		require.NoError(t, err)
		require.Equal(t, want, addrs[0].String())
	}
	a, _ := (&Settings{Port: "tap:a"}).Addrs()
	b, _ := (&Settings{Port: "tap:b"}).Addrs()
	require.NotEqual(t, a, b)
}

func TestCheck(t *testing.T) {
	for want, s := range map[string]Settings{
		"want a port":             {},
		"or a daemon":             {Port: "loop:", Daemon: "/tmp/x"},
		`address "10.0.0.1"`:      {Port: "loop:", IP: "10.0.0.1"},
		`gateway "x"`:             {Port: "loop:", Gateway: "x"},
		`congestion control "zz"`: {Port: "loop:", CC: "zz"},
		"want loss, dup":          {Port: "loop:", Faults: "x"},
	} {
		require.ErrorContains(t, s.Check(), want)
	}
}
