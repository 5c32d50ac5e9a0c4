// Client gets a URL by HTTP over RDMA and writes it to its standard output (docs/http.md).
package main

import (
	"flag"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/examples/http"
)

func main() {
	port := flag.String("d", "memif:/tmp/http.sock,client", "URL of the port")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: client [-d PORT] http://127.0.0.1:18517/FILE\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*port, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(port, url string) error {
	host, err := goroce.Open(port, goroce.Options{})
	if err != nil {
		return err
	}
	defer host.Close()
	client := nethttp.Client{Transport: http.NewTransport(host), Timeout: 30 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != nethttp.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
