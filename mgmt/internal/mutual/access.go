// SPDX-License-Identifier: Apache-2.0

package mutual

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
)

// Access is who may come: clients by the DNS names in their certificates, and whether each may
// change something.
type Access struct {
	*Identity
	changes map[string]bool // by name
}

// NewAccess joins an identity, whose trust signs the clients, with the names of those that may
// change something, and of those that may read alone.
func NewAccess(own []*x509.Certificate, key crypto.Signer, trust []*x509.Certificate, change, read []string) (*Access, error) {
	i, err := New(own, key, trust)
	if err != nil {
		return nil, err
	}
	a := &Access{i, map[string]bool{}}
	for n, name := range append(append([]string{}, change...), read...) {
		if !isName(name) {
			return nil, fmt.Errorf("%q cannot be a client's name: write a DNS name without a wildcard, as it is in the certificate", name)
		}
		name = strings.ToLower(name)
		if _, twice := a.changes[name]; twice {
			return nil, fmt.Errorf("the client %q is named twice: it has one right, change or read", name)
		}
		a.changes[name] = n < len(change)
	}
	if name, _, err := a.Judge(own[0]); err == nil {
		return nil, fmt.Errorf("the own certificate has the name %q of a client: each needs a certificate and a name of its own", name)
	}
	return a, nil
}

// mostName is the longest DNS name, in characters (RFC 1035 2.3.4).
const mostName = 253

// isName says whether a word can be a DNS name in a certificate.
func isName(word string) bool {
	other := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_.", r) }
	return word != "" && len(word) <= mostName && !strings.ContainsFunc(strings.ToLower(word), other)
}

// Judge says which client has a certificate, and whether it may change something. A name counts
// letter by letter: a wildcard in a certificate names no client.
func (a *Access) Judge(c *x509.Certificate) (client string, changes bool, err error) {
	for _, name := range c.DNSNames {
		may, named := a.changes[strings.ToLower(name)]
		if !named || strings.EqualFold(client, name) {
			continue
		}
		if client != "" {
			return "", false, fmt.Errorf("its certificate has the names of two clients, %q and %q", client, name)
		}
		client, changes = strings.ToLower(name), may
	}
	if client == "" {
		return "", false, fmt.Errorf("its certificate has the names %.200q, and [api] names no such client", fmt.Sprint(c.DNSNames))
	}
	return client, changes, nil
}

// Still judges a client again whose certificates counted before.
func (a *Access) Still(shown []*x509.Certificate) (client string, changes bool, err error) {
	if err := a.Verify(shown, x509.ExtKeyUsageClientAuth); err != nil {
		return "", false, err
	}
	return a.Judge(shown[0])
}

// TLS is the configuration of the server.
func (a *Access) TLS() *tls.Config {
	c := a.Server(func(c *x509.Certificate) error {
		_, _, err := a.Judge(c)
		return err
	})
	c.NextProtos = []string{"h2", "http/1.1"}
	return c
}
