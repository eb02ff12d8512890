// SPDX-License-Identifier: Apache-2.0

// Package certtest makes certificates for tests, and writes them as PEM files.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Write makes a self-signed certificate of a name, and writes NAME.pem and NAME.key into a folder.
// The certificate is valid from now on for a time, or expired that long ago.
func Write(t testing.TB, folder, name string, valid time.Duration) {
	t.Helper()
	issue(t, folder, name, nil, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(valid) })
}

// NewAuthority makes an authority, and writes NAME.pem and NAME.key into a folder.
func NewAuthority(t testing.TB, folder, name string) *Authority {
	t.Helper()
	return issue(t, folder, name, nil, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
}

// Sign writes NAME.pem and NAME.key of a certificate with the DNS name NAME, valid for an hour, or
// as edits make it.
func (a *Authority) Sign(t testing.TB, folder, name string, edits ...func(*x509.Certificate)) *Authority {
	t.Helper()
	return issue(t, folder, name, a, edits...)
}

// issue makes a certificate, of an authority or signed by itself.
func issue(t testing.TB, folder, name string, by *Authority, edits ...func(*x509.Certificate)) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	for _, edit := range edits {
		edit(c)
	}
	if by == nil {
		by = &Authority{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.certificate, key.Public(), by.key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	for suffix, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		must(t, os.WriteFile(filepath.Join(folder, name+suffix), pem.EncodeToMemory(block), 0o600))
	}
	c, err = x509.ParseCertificate(der)
	must(t, err)
	return &Authority{c, key}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
