// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"sallyport/mgmt/internal/mutual"
)

// Identity has the certificate that a box shows the other, and the roots and the name by which it
// knows the other.
type Identity struct {
	*mutual.Identity
	name string // of the other's certificate
}

// NewIdentity joins a box's certificate and key with trust and name, by which it knows the other
// box. Trust has certificates that sign the other's, or that certificate itself; name is the DNS
// name in it.
func NewIdentity(own []*x509.Certificate, key crypto.Signer, trust []*x509.Certificate, name string) (*Identity, error) {
	i, err := mutual.New(own, key, trust)
	if err != nil {
		return nil, err
	}
	if own[0].VerifyHostname(name) == nil {
		return nil, fmt.Errorf("the own certificate has the name %q, which is to be the other box's: each box needs a certificate and a name of its own", name)
	}
	return &Identity{i, name}, nil
}

// config is that of both ends: the way in which a certificate is judged is the same, so Go's own,
// which differs, is off.
func (i *Identity) config() *tls.Config {
	c := i.Config()
	c.ServerName, c.ClientAuth, c.InsecureSkipVerify = i.name, tls.RequireAnyClientCert, true
	c.VerifyConnection = func(state tls.ConnectionState) error { return i.verify(state.PeerCertificates) }
	return c
}

// verify says in a sentence why certificates that somebody shows are not the other box's.
func (i *Identity) verify(shown []*x509.Certificate) error {
	if err := i.Verify(shown, x509.ExtKeyUsageAny); err != nil {
		return err
	}
	return mutual.CheckName(shown[0], i.name)
}
