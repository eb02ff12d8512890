// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"sallyport/mgmt/internal/mutual"
)

// server is a sallyportd that is reached over the network, and what this client and it know each
// other by.
type server struct {
	address                       string
	certificate, key, trust, name string
}

// file is an option that the environment may have instead.
type file struct {
	option, variable, help string
	value                  *string
}

func (s *server) files() []file {
	return []file{
		{"certificate", "SALLYPORT_CERTIFICATE", "this client's certificate, a PEM `file`", &s.certificate},
		{"key", "SALLYPORT_KEY", "the key to it, a PEM `file` that others may not read", &s.key},
		{"trust", "SALLYPORT_TRUST", "the certificate of the box, or of the authority that signs it, a PEM `file`", &s.trust},
	}
}

// addTo adds the options of a server to those of a command.
func (s *server) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&s.address, "server", "", "the `HOST:PORT` at which a sallyportd is reached over the network (listen of [api] in its configuration)")
	for _, file := range s.files() {
		flags.StringVar(file.value, file.option, "", fmt.Sprintf("for --server: %s (default: $%s)", file.help, file.variable))
	}
	flags.StringVar(&s.name, "server-name", "", "for --server: the `name` in the box's certificate, if it is not HOST")
}

// alone names an option that has no meaning without --server; empty if there is none.
func (s *server) alone() string {
	for _, file := range s.files() {
		if *file.value != "" {
			return file.option
		}
	}
	if s.name != "" {
		return "server-name"
	}
	return ""
}

// config checks the address, and reads the files.
func (s *server) config() (*tls.Config, error) {
	host, port, err := net.SplitHostPort(s.address)
	if number, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || host == "" || number == 0 {
		return nil, fmt.Errorf("%q is no HOST:PORT for --server, such as box-a.example:4555 or [2001:db8::1]:4555", s.address)
	}
	for _, file := range s.files() {
		if *file.value = cmp.Or(*file.value, os.Getenv(file.variable)); *file.value == "" {
			return nil, fmt.Errorf("--server needs --%s FILE, or $%s", file.option, file.variable)
		}
	}
	own, err := mutual.ReadCertificates(s.certificate)
	if err != nil {
		return nil, err
	}
	key, err := mutual.ReadKey(s.key)
	if err != nil {
		return nil, err
	}
	trust, err := mutual.ReadCertificates(s.trust)
	if err != nil {
		return nil, err
	}
	identity, err := mutual.New(own, key, trust)
	if err != nil {
		return nil, err
	}
	return identity.Client(cmp.Or(s.name, host)), nil
}
