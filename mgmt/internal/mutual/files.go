// SPDX-License-Identifier: Apache-2.0

package mutual

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// mostFile is the longest file that is read, in bytes: a thousand certificates.
const mostFile = 1 << 20

// readFile reads a regular file whose owner and mode check accepts. It waits for no other program,
// and reads no more than mostFile.
func readFile(what, path string, check func(fs.FileInfo) error) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read the %s %s: %w", what, path, reason(err))
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the %s %s: %w", what, path, reason(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("cannot read the %s %s: it is no regular file", what, path)
	case info.Size() > mostFile:
		return nil, fmt.Errorf("cannot read the %s %s: it is longer than %d bytes", what, path, mostFile)
	}
	if err := check(info); err != nil {
		return nil, err
	}
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(file, text); err != nil {
		clear(text)
		return nil, fmt.Errorf("cannot read the %s %s: %w", what, path, reason(err))
	}
	return text, nil
}

// ReadCertificates reads the certificates of a PEM file. The file must have one or more. Each has
// to be valid now.
func ReadCertificates(path string) ([]*x509.Certificate, error) {
	list, err := ReadAnyCertificates(path)
	if err == nil {
		err = InTime(path, list)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// ReadAnyCertificates reads the certificates of a PEM file, valid now or not.
func ReadAnyCertificates(path string) ([]*x509.Certificate, error) {
	text, err := readFile("certificate", path, func(fs.FileInfo) error { return nil })
	if err != nil {
		return nil, err
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
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", path)
	}
	return list, nil
}

// InTime names the first certificate of a file that is not valid now.
func InTime(path string, list []*x509.Certificate) error {
	for _, c := range list {
		if why := outOfTime(c, time.Now()); why != "" {
			return fmt.Errorf("the certificate %s %s", path, why)
		}
	}
	return nil
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
	return readKey(path, func(fs.FileInfo) error { return nil })
}

// ReadServiceKey reads the key of a daemon: root or the daemon's user must own the file.
func ReadServiceKey(path string) (crypto.Signer, error) {
	return readKey(path, func(info fs.FileInfo) error {
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 && int(owner) != os.Geteuid() {
			return fmt.Errorf("the key %s belongs to the user %d, who may read and change it: chown root %s", path, owner, path)
		}
		return nil
	})
}

func readKey(path string, check func(fs.FileInfo) error) (crypto.Signer, error) {
	text, err := readFile("key", path, func(info fs.FileInfo) error {
		if info.Mode().Perm()&0o007 != 0 {
			return fmt.Errorf("everybody may reach the key %s: chmod o= %s", path, path)
		}
		return check(info)
	})
	if err != nil {
		return nil, err
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
