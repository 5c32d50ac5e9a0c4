package workload

import (
	"fmt"
	"strings"
)

var named = []struct {
	name  string
	sizes *Sizes
}{
	{"alistorage", AliStorage},
	{"cachefollower", CacheFollower},
	{"cachefollower-xpass", CacheFollowerXPass},
	{"datamining", DataMining},
	{"googlerpc", GoogleRPC},
	{"googlesearch", GoogleSearch},
	{"hadoop", Hadoop},
	{"hadoop-w4", HadoopW4},
	{"memcached", Memcached},
	{"websearch", WebSearch},
	{"websearch-xpass", WebSearchXPass},
	{"webserver", WebServer},
	{"webserver-xpass", WebServerXPass},
}

// Names answers the names of the published size distributions, in alphabetical order.
func Names() []string {
	names := make([]string, len(named))
	for i, n := range named {
		names[i] = n.name
	}
	return names
}

// ByName answers a published size distribution.
func ByName(name string) (*Sizes, error) {
	for _, n := range named {
		if n.name == name {
			return n.sizes, nil
		}
	}
	return nil, fmt.Errorf("workload: size distribution %q is none of %s", name,
		strings.Join(Names(), ", "))
}
