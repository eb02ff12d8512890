// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"sallyport/mgmt/api/client"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/certtest"
)

const policy = "xfrm policy add dst 10.7.0.0/16 dir out action block\n"

// TestNetwork: a client that may change the box does, and the audit trail has its name and address.
// One that may read alone reads, is refused in one sentence, and cannot fill the log.
func TestNetwork(t *testing.T) {
	n := newNetworked(t)
	_, err := n.remote("controller").SealedBatch(t.Context(), "f", []byte(policy))
	n.must(err)
	reader := n.remote("watcher")
	list, err := reader.List(t.Context(), &sallyportv1.ListRequest{What: "policy"})
	if err != nil || !strings.Contains(strings.Join(list.GetItems(), ""), "10.7.0.0/16") {
		t.Errorf("%v, %v", list, err)
	}
	before := n.fake.Writes
	for range 5 {
		_, err := reader.SealedBatch(t.Context(), "f", []byte("xfrm policy flush\n"))
		want := "this client may read alone: changes need a client that the daemon's configuration names in change of [api]"
		if connect.CodeOf(err) != connect.CodePermissionDenied || client.Sentence(err) != want || !client.Refused(err) {
			t.Error(err)
		}
	}
	_, err = reader.AllocSpi(t.Context(), &sallyportv1.AllocSpiRequest{Src: "192.0.2.2", Dst: "192.0.2.1", Min: 256, Max: 300})
	if connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Error(err)
	}
	if n.fake.Writes != before {
		t.Error("registers were written")
	}
	log := n.log.String()
	for want, times := range map[string]int{
		"do=batch done=true client=controller from=127.0.0.1:": 1, "do=batch done=false client=watcher from=127.0.0.1:": 1, "do=alloc-spi": 0,
	} {
		if strings.Count(log, want) != times {
			t.Errorf("not %d times %s in\n%s", times, want, log)
		}
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "event=change") && strings.Contains(line, "10.7.0.0/16") && !strings.Contains(line, " client=controller from=127.0.0.1:") {
			t.Error(line)
		}
	}
}

// TestBadCertificates: each is refused in one sentence, and the log has another.
func TestBadCertificates(t *testing.T) {
	t.Parallel()
	n := newNetworked(t)
	sign := func(name string, edit func(*x509.Certificate)) { n.authority.Sign(t, n.folder, name, edit) }
	sign("stranger", func(*x509.Certificate) {})
	sign("old", func(c *x509.Certificate) {
		c.DNSNames, c.NotAfter = []string{"controller"}, time.Now().Add(-time.Minute)
	})
	sign("early", func(c *x509.Certificate) {
		c.DNSNames, c.NotBefore = []string{"controller"}, time.Now().Add(time.Minute)
	})
	sign("server", func(c *x509.Certificate) {
		c.DNSNames, c.ExtKeyUsage = []string{"controller"}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	sign("common-name", func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, "controller" })
	sign("wildcard", func(c *x509.Certificate) { c.DNSNames = []string{"*"} })
	sign("two", func(c *x509.Certificate) { c.DNSNames = []string{"watcher", "controller"} })
	certtest.Write(t, n.folder, "self-signed", time.Hour)
	certtest.NewAuthority(t, n.folder, "other").Sign(t, n.folder, "forged", func(c *x509.Certificate) { c.DNSNames = []string{"controller"} })
	certtest.NewAuthority(t, n.folder, "clients-again").Sign(t, n.folder, "namesake", func(c *x509.Certificate) { c.DNSNames = []string{"controller"} })
	wrongKey := n.config("controller")
	wrongKey.Certificates[0].PrivateKey = n.config("second").Certificates[0].PrivateKey
	none := n.config("controller")
	none.Certificates = nil
	const unnamed, authority, time = "does not name this client", "no authority that it trusts", "is out of time"
	for name, test := range map[string]struct {
		config    *tls.Config
		said, log string
	}{
		"stranger":    {nil, unnamed, "[api] names no such client"},
		"old":         {nil, time, "its certificate expired on "},
		"early":       {nil, time, "its certificate is not valid before "},
		"server":      {nil, unnamed, "its certificate does not count: "},
		"common-name": {nil, unnamed, "[api] names no such client"},
		"wildcard":    {nil, unnamed, "[api] names no such client"},
		"two":         {nil, unnamed, "the names of two clients"},
		"self-signed": {nil, authority, "is not one that the file of trust has or has signed"},
		"forged":      {nil, authority, "is not one that the file of trust has or has signed"},
		"namesake":    {nil, authority, "is not one that the file of trust has or has signed"},
		"wrong key":   {wrongKey, "refuses the connection", "invalid signature by the client certificate"},
		"none":        {none, "it wants the certificate of a client", "client didn't provide a certificate"},
	} {
		n.listen()
		if test.config == nil {
			test.config = n.config(name)
		}
		for range 3 {
			err := version(t, n.remoteBy(test.config))
			if connect.CodeOf(err) != connect.CodeUnauthenticated || !client.Refused(err) || !strings.Contains(client.Sentence(err), "sallyportd at "+n.address+" refuses the connection: ") || !strings.Contains(client.Sentence(err), test.said) {
				t.Errorf("%s: %v", name, err)
			}
		}
		n.until(name+": "+test.log, func() bool { return strings.Contains(n.log.String(), test.log) })
		if refused := strings.Count(n.log.String(), "a connection to the API's port was refused"); refused != 1 {
			t.Errorf("%s: %d lines in the log", name, refused)
		}
		n.log.Reset()
		n.must(version(t, n.remote("controller")))
	}
}

// TestOldTLS: versions before 1.3 are refused.
func TestOldTLS(t *testing.T) {
	n := newNetworked(t)
	config := n.config("controller")
	config.MaxVersion = tls.VersionTLS12
	if conn, err := tls.Dial("tcp", n.address, config); err == nil || !strings.Contains(err.Error(), "protocol version not supported") {
		conn.Close()
		t.Error(err)
	}
}

// TestWrongBox: a client does not speak to a box that it does not know.
func TestWrongBox(t *testing.T) {
	n := newNetworked(t)
	other, unknown := n.config("controller"), n.config("controller")
	other.ServerName = "box-b"
	unknown.RootCAs = x509.NewCertPool()
	for want, config := range map[string]*tls.Config{"certificate is valid for box-a, not box-b": other, "unknown authority": unknown} {
		err := version(t, n.remoteBy(config))
		if connect.CodeOf(err) != connect.CodeUnauthenticated || !strings.HasPrefix(client.Sentence(err), "the certificate of "+n.address+" does not count: ") || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	c := client.DialTLS("127.0.0.1:1", other)
	if err := version(t, c); connect.CodeOf(err) != connect.CodeUnavailable || client.Sentence(err) != "cannot reach sallyportd at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused" {
		t.Error(err)
	}
}

// TestAccessChanges: a client that loses its right, or gets another, loses its connection. Others
// go on, those of this machine among them.
func TestAccessChanges(t *testing.T) {
	n := newNetworked(t)
	var local = n.client(n.path)
	streams := map[string]*connect.ServerStreamForClient[sallyportv1.WatchResponse]{}
	for name, c := range map[string]*client.Client{"controller": n.remote("controller"), "second": n.remote("second"), "watcher": n.remote("watcher"), "local": local} {
		stream, err := c.Watch(t.Context(), &sallyportv1.WatchRequest{})
		n.must(err)
		defer stream.Close()
		streams[name] = stream
	}
	n.network.Store(n.access([]string{"controller", "watcher"}, nil))
	for _, name := range []string{"second", "watcher"} {
		if streams[name].Receive() || streams[name].Err() == nil {
			t.Errorf("%s still watches", name)
		}
	}
	n.toggle()
	for _, name := range []string{"controller", "local"} {
		if !streams[name].Receive() {
			t.Errorf("%s: %v", name, streams[name].Err())
		}
	}
	if err := version(t, n.remote("second")); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Error(err)
	}
	_, err := n.remote("watcher").SealedBatch(t.Context(), "f", []byte(policy))
	n.must(err)
}

// TestCertificateEnds: a connection ends with the certificate of its client.
func TestCertificateEnds(t *testing.T) {
	t.Parallel()
	n := newNetworked(t)
	n.authority.Sign(t, n.folder, "controller", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(3 * time.Second) })
	stream, err := n.remote("controller").Watch(t.Context(), &sallyportv1.WatchRequest{})
	n.must(err)
	defer stream.Close()
	if stream.Receive() || stream.Err() == nil {
		t.Error("it goes on")
	}
}

// TestUnnamed: a request of a caller that the log cannot name is refused, whatever it asks.
func TestUnnamed(t *testing.T) {
	r := newRig(t)
	for _, caller := range []caller.Caller{{}, caller.Caller{}.Reading(), caller.Remote("", "192.0.2.1:1")} {
		request := httptest.NewRequest("POST", "/sallyport.v1.BoxService/GetVersion", strings.NewReader("{}"))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		r.server.ServeHTTP(answer, request.WithContext(context.WithValue(t.Context(), partyKey{}, party{caller: caller})))
		if answer.Code != 401 || !strings.Contains(answer.Body.String(), "the daemon cannot tell who asks") {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
	}
	if caller := (&Network{}).callerOf(nil); caller.Known() {
		t.Error("a connection without a client has one")
	}
}
