// SPDX-License-Identifier: Apache-2.0

// Package peertest makes the identities of boxes for tests of pairs.
package peertest

import (
	"path/filepath"
	"testing"
	"time"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/peer"
)

// Identity is that of the box with one certificate of a folder, which knows the other by another.
func Identity(t testing.TB, folder, own, other, name string) *peer.Identity {
	t.Helper()
	certificates, err := mutual.ReadAnyCertificates(filepath.Join(folder, own+".pem"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := mutual.ReadKey(filepath.Join(folder, own+".key"))
	if err != nil {
		t.Fatal(err)
	}
	trust, err := mutual.ReadAnyCertificates(filepath.Join(folder, other+".pem"))
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
func Pair(t testing.TB) (a, b *peer.Identity) {
	t.Helper()
	folder := t.TempDir()
	certtest.Write(t, folder, "box-a", time.Hour)
	certtest.Write(t, folder, "box-b", time.Hour)
	return Identity(t, folder, "box-a", "box-b", "box-b"), Identity(t, folder, "box-b", "box-a", "box-a")
}
