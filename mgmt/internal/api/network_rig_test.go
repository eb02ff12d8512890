// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"sallyport/mgmt/api/client"
	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/mutual"
)

// networked is a rig that clients reach over the network: "controller" may change the box, "second"
// too, and "watcher" may ask alone.
type networked struct {
	*rig
	folder, address string
	authority       *certtest.Authority
	network         *Network
}

func newNetworked(t *testing.T, edits ...func(*Server)) *networked {
	t.Helper()
	r, _ := configured(t, edits...)
	n := &networked{rig: r, folder: t.TempDir()}
	n.authority = certtest.NewAuthority(t, n.folder, "clients")
	certtest.NewAuthority(t, n.folder, "boxes").Sign(t, n.folder, "box-a")
	for _, name := range []string{"controller", "second", "watcher"} {
		n.authority.Sign(t, n.folder, name)
	}
	n.listen()
	return n
}

// listen has the API listen at another address, with a log that has refused nothing yet.
func (n *networked) listen() {
	n.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	n.must(err)
	n.address, n.network = listener.Addr().String(), NewNetwork(n.access([]string{"controller", "second"}, []string{"watcher"}))
	ctx, cancel := context.WithCancel(context.Background())
	served, network, stop := make(chan error, 1), n.network, n.stop
	go func() { served <- n.server.ServeNetwork(ctx, listener, network) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			n.Errorf("ServeNetwork: %v", err)
		}
		stop()
	})
	n.Cleanup(n.stop)
}

func (n *networked) file(name string) string { return filepath.Join(n.folder, name) }

// access lets clients in.
func (n *networked) access(change, read []string) *mutual.Access {
	n.Helper()
	own, err := mutual.ReadCertificates(n.file("box-a.pem"))
	n.must(err)
	key, err := mutual.ReadKey(n.file("box-a.key"))
	n.must(err)
	trust, err := mutual.ReadCertificates(n.file("clients.pem"))
	n.must(err)
	access, err := mutual.NewAccess(own, key, trust, change, read)
	n.must(err)
	return access
}

// config is that of the client with a certificate of a name.
func (n *networked) config(name string) *tls.Config {
	n.Helper()
	own, err := tls.LoadX509KeyPair(n.file(name+".pem"), n.file(name+".key"))
	n.must(err)
	trust, err := mutual.ReadCertificates(n.file("boxes.pem"))
	n.must(err)
	roots := x509.NewCertPool()
	roots.AddCert(trust[0])
	return &tls.Config{RootCAs: roots, ServerName: "box-a", Certificates: []tls.Certificate{own}}
}

func (n *networked) remote(name string) *client.Client {
	n.Helper()
	return n.remoteBy(n.config(name))
}

func (n *networked) remoteBy(config *tls.Config) *client.Client {
	c := client.DialTLS(n.address, config)
	n.Cleanup(c.Close)
	return c
}
