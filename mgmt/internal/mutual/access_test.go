// SPDX-License-Identifier: Apache-2.0

package mutual_test

import (
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/mutual"
)

// access is that of a box with the certificate "box".
func access(t testing.TB, change, read []string) (*mutual.Access, error) {
	t.Helper()
	folder := t.TempDir()
	certtest.NewAuthority(t, folder, "box")
	own, err := mutual.ReadCertificates(filepath.Join(folder, "box.pem"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := mutual.ReadKey(filepath.Join(folder, "box.key"))
	if err != nil {
		t.Fatal(err)
	}
	return mutual.NewAccess(own, key, own, change, read)
}

// TestNames: the names of clients are DNS names, and each has one right.
func TestNames(t *testing.T) {
	long := strings.Repeat("a", 253)
	for _, names := range [][2][]string{
		{{"a"}, {"b"}}, {{long}, nil}, {nil, {"ops-1.example.net", "_x"}}, {nil, nil},
	} {
		if _, err := access(t, names[0], names[1]); err != nil {
			t.Errorf("%.50q: %v", names, err)
		}
	}
	for want, names := range map[string][2][]string{
		`"*.example" cannot be a client's name`:              {{"*.example"}, nil},
		`"" cannot be`:                                       {nil, {""}},
		`"a b" cannot be`:                                    {{"a b"}, nil},
		`"a\nb" cannot be`:                                   {{"a\nb"}, nil},
		long + `b" cannot be`:                                {{long + "b"}, nil},
		`the client "a" is named twice`:                      {{"a"}, {"A"}},
		`the own certificate has the name "box" of a client`: {{"BOX"}, nil},
	} {
		if _, err := access(t, names[0], names[1]); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.50q: %v", names, err)
		}
	}
}

// FuzzJudge: no certificate whose names are not a client's, letter by letter, is a client's.
func FuzzJudge(f *testing.F) {
	for _, name := range []string{"controller", "CONTROLLER", "*", "controller.", "controller\x00", "wаtcher", ""} {
		f.Add(name, "watcher")
		f.Add(name, name)
	}
	a, err := access(f, []string{"controller"}, []string{"watcher"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		client, changes, err := a.Judge(&x509.Certificate{DNSNames: []string{first, second}})
		is := map[string]bool{}
		for _, name := range []string{first, second} {
			if lower := strings.ToLower(name); lower == "controller" || lower == "watcher" {
				is[lower] = true
			}
		}
		if (err == nil) != (len(is) == 1) || err == nil && !is[client] || changes != (err == nil && client == "controller") {
			t.Errorf("%q and %q are %q, %v, %v", first, second, client, changes, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
	})
}
