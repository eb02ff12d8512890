// SPDX-License-Identifier: Apache-2.0

package mutual

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
	"time"
)

// TestClock: certificates are judged by the time since the start, so that a clock that is set
// changes nothing; one that runs out does.
func TestClock(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	make := func(name string) *x509.Certificate {
		c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err == nil {
			c, err = x509.ParseCertificate(der)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	own, other := make("a"), make("b")
	i, err := New([]*x509.Certificate{own}, key, []*x509.Certificate{other})
	if err != nil {
		t.Fatal(err)
	}
	if now := i.now(); time.Until(now).Abs() > time.Minute || i.Config().Time == nil {
		t.Errorf("it is %v", now)
	}
	if err := i.Verify([]*x509.Certificate{other}, x509.ExtKeyUsageAny); err != nil {
		t.Error(err)
	}
	for after, want := range map[time.Duration]string{2 * time.Hour: "its certificate expired on ", -2 * time.Hour: "its certificate is not valid before "} {
		i.now = func() time.Time { return time.Now().Add(after) }
		if err := i.Verify([]*x509.Certificate{other}, x509.ExtKeyUsageAny); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %v: %v", after, err)
		}
	}
	if err := i.Verify(nil, x509.ExtKeyUsageAny); err == nil {
		t.Error("no certificate is one")
	}
}
