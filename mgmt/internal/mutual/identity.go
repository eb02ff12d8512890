// SPDX-License-Identifier: Apache-2.0

// Package mutual is TLS 1.3 in which both ends show a certificate: between the boxes of a pair, and
// between a box and the controllers that reach its API over the network.
package mutual

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Identity has the certificate that one end shows, and the roots by which it knows others.
type Identity struct {
	own   tls.Certificate
	trust []*x509.Certificate
	roots *x509.CertPool
	// now is the time by which certificates are judged: that of the start plus the time since. A
	// clock that is set ends no connection.
	now func() time.Time
}

// New joins a certificate (the first of own, before those that lead to its root) and key with
// trust: certificates that sign the others', or those certificates themselves.
func New(own []*x509.Certificate, key crypto.Signer, trust []*x509.Certificate) (*Identity, error) {
	public, ok := own[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return nil, errors.New("certificate and key do not belong together: the certificate is of another key")
	}
	start := time.Now()
	i := &Identity{trust: trust, roots: x509.NewCertPool(), now: func() time.Time { return start.Add(time.Since(start)) }}
	i.own = tls.Certificate{PrivateKey: key, Leaf: own[0]}
	for _, c := range own {
		i.own.Certificate = append(i.own.Certificate, c.Raw)
	}
	for _, c := range trust {
		i.roots.AddCert(c)
	}
	return i, nil
}

// Expires is when the own certificate ends.
func (i *Identity) Expires() time.Time { return i.own.Leaf.NotAfter }

// InTime says in a sentence which certificate, the own ones' first, does not count now.
func (i *Identity) InTime() error {
	if why := outOfTime(i.own.Leaf, i.now()); why != "" {
		return errors.New("the own certificate " + why)
	}
	for _, c := range i.trust {
		if why := outOfTime(c, i.now()); why != "" {
			return errors.New("a certificate of the file of trust " + why)
		}
	}
	return nil
}

// Left is how long a certificate still lasts.
func (i *Identity) Left(c *x509.Certificate) time.Duration { return c.NotAfter.Sub(i.now()) }

// Config has what both ends share: TLS 1.3 alone, the own certificate, and no session that goes on,
// so that each connection shows its certificates anew.
func (i *Identity) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{i.own}, Time: i.now, SessionTicketsDisabled: true}
}

// Client is the configuration of a client whose server has a name, a DNS name or an IP address.
func (i *Identity) Client(name string) *tls.Config {
	c := i.Config()
	c.RootCAs, c.ServerName = i.roots, name
	return c
}

// Server is the configuration of a server that judges each client by its certificate, once that is
// known to be under the roots, for clients, and valid.
func (i *Identity) Server(judge func(*x509.Certificate) error) *tls.Config {
	c := i.Config()
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, i.roots
	c.VerifyConnection = func(state tls.ConnectionState) error { return judge(state.PeerCertificates[0]) }
	return c
}

// Verify says in a sentence why certificates that somebody shows do not count for a use.
func (i *Identity) Verify(shown []*x509.Certificate, use x509.ExtKeyUsage) error {
	if len(shown) == 0 {
		return errors.New("it shows no certificate")
	}
	options := x509.VerifyOptions{Roots: i.roots, Intermediates: x509.NewCertPool(), CurrentTime: i.now(), KeyUsages: []x509.ExtKeyUsage{use}}
	for _, c := range shown[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := shown[0].Verify(options); err != nil {
		return Sentence(err, i.now())
	}
	return nil
}

// Sentence says why a certificate did not count at a time. Other errors it leaves as they are.
func Sentence(err error, now time.Time) error {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate " + outOfTime(invalid.Cert, now))
	case errors.As(err, &unknown):
		return errors.New("its certificate is not one that the file of trust has or has signed")
	case errors.As(err, &host):
		return wrongName(host.Certificate, host.Host)
	case errors.As(err, &invalid):
		return fmt.Errorf("its certificate does not count: %w", invalid)
	}
	return err
}

// CheckName says in a sentence that a certificate has not a name.
func CheckName(c *x509.Certificate, name string) error {
	if c.VerifyHostname(name) != nil {
		return wrongName(c, name)
	}
	return nil
}

func wrongName(c *x509.Certificate, name string) error {
	return fmt.Errorf("its certificate has the names %q and not %q", namesOf(c), name)
}

// namesOf are the DNS names and the IP addresses of a certificate.
func namesOf(c *x509.Certificate) []string {
	names := append([]string{}, c.DNSNames...)
	for _, address := range c.IPAddresses {
		names = append(names, address.String())
	}
	return names
}
