// SPDX-License-Identifier: Apache-2.0

// Package peertest makes certificates for tests of pairs.
package peertest

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

	"sallyport/mgmt/internal/peer"
)

// Write makes a self-signed certificate of a name, and writes NAME.pem and NAME.key into a folder.
// The certificate is valid from now on for a time, or expired that long ago.
func Write(t *testing.T, folder, name string, valid time.Duration) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(folder, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Identity is that of the box with one certificate of a folder, which knows the other by another.
func Identity(t *testing.T, folder, own, other, name string) *peer.Identity {
	t.Helper()
	certificates, err := peer.ReadCertificates(filepath.Join(folder, own+".pem"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := peer.ReadKey(filepath.Join(folder, own+".key"))
	if err != nil {
		t.Fatal(err)
	}
	trust, err := peer.ReadCertificates(filepath.Join(folder, other+".pem"))
	if err != nil {
		t.Fatal(err)
	}
	identity, err := peer.NewIdentity(certificates, key, trust, name)
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// Pair makes certificates of the boxes "box-a" and "box-b", and gives the identity of each.
func Pair(t *testing.T) (a, b *peer.Identity) {
	t.Helper()
	folder := t.TempDir()
	Write(t, folder, "box-a", time.Hour)
	Write(t, folder, "box-b", time.Hour)
	return Identity(t, folder, "box-a", "box-b", "box-b"), Identity(t, folder, "box-b", "box-a", "box-a")
}
