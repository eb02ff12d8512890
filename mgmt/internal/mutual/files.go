// SPDX-License-Identifier: Apache-2.0

package mutual

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

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

// reason is the cause of a file's error, without the file's name.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
