// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"strings"
	"testing"
)

// FuzzTOML: any text is a configuration, or one sentence with a line of the file.
func FuzzTOML(f *testing.F) {
	example, err := os.ReadFile("../../packaging/sallyportd.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte("registers = \"unix:/s\"\n[taps]\nred = \"a b\"\n"))
	f.Add([]byte("registers = 7\n[peer]\nside = \"c\"\n"))
	f.Add([]byte("registers = \"unix:/s\"\n[api]\nlisten = \"[::]:4555\"\nchange = [\"*\"]\n"))
	f.Add([]byte("a.b = [[1, {c = 1979-05-27}]]\n\"\" = '''\n'''"))
	f.Fuzz(func(t *testing.T, text []byte) {
		err := decode(text, Default())
		if err == nil {
			return
		}
		where := located("file", text, err).(*Error)
		if lines := strings.Count(string(text), "\n") + 1; where.Line < 0 || where.Line > lines {
			t.Errorf("line %d of %d: %s", where.Line, lines, where.Reason)
		}
		if strings.ContainsAny(where.Reason, "\n") {
			t.Errorf("%q", where.Reason)
		}
	})
}
