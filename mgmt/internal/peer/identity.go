// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Identity has the certificate that a box shows the other, and the roots and the name by which it
// knows the other.
type Identity struct {
	own   tls.Certificate
	roots *x509.CertPool
	name  string // of the other's certificate
	// now is the time by which certificates are judged: that of the start plus the time since. A
	// clock that is set parts no pair.
	now func() time.Time
}

// Expires is when this box's own certificate ends.
func (i *Identity) Expires() time.Time { return i.own.Leaf.NotAfter }

// ReadCertificates reads the certificates of a PEM file. The file must have one or more. Each has
// to be valid now.
func ReadCertificates(path string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate %s: %w", path, reason(err))
	}
	var list []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s holds a certificate that cannot be read: %w", path, err)
		}
		if why := outOfTime(c, time.Now()); why != "" {
			return nil, fmt.Errorf("the certificate %s %s", path, why)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", path)
	}
	return list, nil
}

// outOfTime says why a certificate does not count at a time, and nothing if it does.
func outOfTime(c *x509.Certificate, now time.Time) string {
	switch {
	case now.After(c.NotAfter):
		return "expired on " + c.NotAfter.UTC().Format(time.DateTime) + " UTC: make a new one"
	case now.Before(c.NotBefore):
		return "is not valid before " + c.NotBefore.UTC().Format(time.DateTime) + " UTC: is this machine's clock right?"
	}
	return ""
}

// ReadKey reads a private key in PEM form (PKCS 8, SEC 1 or PKCS 1) from a file that others may
// not read.
func ReadKey(path string) (crypto.Signer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key %s: %w", path, reason(err))
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("everybody may reach the key %s: chmod o= %s", path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key %s: %w", path, reason(err))
	}
	defer clear(text)
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		defer clear(block.Bytes)
		if key := parseKey(block); key != nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%s holds no private key in PEM form without a password", path)
}

func parseKey(block *pem.Block) crypto.Signer {
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
		func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
	} {
		if key, err := parse(block.Bytes); err == nil {
			signer, _ := key.(crypto.Signer)
			return signer
		}
	}
	return nil
}

// NewIdentity joins a box's certificate (the first of own, before those that lead to its root) and
// key with trust and name, by which it knows the other box. Trust has certificates that sign the
// other's, or that certificate itself; name is the DNS name in it.
func NewIdentity(own []*x509.Certificate, key crypto.Signer, trust []*x509.Certificate, name string) (*Identity, error) {
	public, ok := own[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return nil, errors.New("certificate and key do not belong together: the certificate is of another key")
	}
	if own[0].VerifyHostname(name) == nil {
		return nil, fmt.Errorf("the own certificate has the name %q, which is to be the other box's: each box needs a certificate and a name of its own", name)
	}
	start := time.Now()
	i := &Identity{roots: x509.NewCertPool(), name: name, now: func() time.Time { return start.Add(time.Since(start)) }}
	i.own = tls.Certificate{PrivateKey: key, Leaf: own[0]}
	for _, c := range own {
		i.own.Certificate = append(i.own.Certificate, c.Raw)
	}
	for _, c := range trust {
		i.roots.AddCert(c)
	}
	return i, nil
}

// config is that of both ends: the way in which a certificate is judged is the same, so Go's own,
// which differs, is off.
func (i *Identity) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{i.own}, ServerName: i.name, Time: i.now, SessionTicketsDisabled: true,
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error { return i.verify(state.PeerCertificates) },
	}
}

// verify says in a sentence why what somebody shows is not the other box's certificate.
func (i *Identity) verify(shown []*x509.Certificate) error {
	if len(shown) == 0 {
		return errors.New("it shows no certificate")
	}
	options := x509.VerifyOptions{Roots: i.roots, Intermediates: x509.NewCertPool(), CurrentTime: i.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, c := range shown[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := shown[0].Verify(options)
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate " + outOfTime(invalid.Cert, i.now()))
	case errors.As(err, &unknown):
		return errors.New("its certificate is not one that the file of trust has or has signed")
	case err != nil:
		return fmt.Errorf("its certificate does not count: %w", err)
	}
	if shown[0].VerifyHostname(i.name) != nil {
		names := slices.Clone(shown[0].DNSNames)
		return fmt.Errorf("its certificate has the names %q and not %q", names, i.name)
	}
	return nil
}

// reason is the cause of a file's error, without the file's name.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
