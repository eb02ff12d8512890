// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"unicode"
)

// answers is what another box says, whatever it is asked.
type answers []byte

// RoundTrip reads the answer as from a connection.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(a)), request)
}

// FuzzAnswer: whatever the other box says, it is a status and numbers, or one sentence.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"side":"a","active":true,"yields":false,"problems":["a"]}`, `{"age_ns":5,"numbers":[{"src":"1.2.3.4","dst":"4.3.2.1","proto":"esp","spi":7,"dir":"out","number":18446744073709551615}]}`,
		`{"age_ns":-1}`, `[]`, "null",
	} {
		f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n" + body))
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n" + `{"side":"b","problems":["a\u001b[2J\nb"]}`))
	f.Add([]byte("HTTP/1.1 409 Conflict\r\nContent-Length: 3\r\n\r\nno\n"))
	f.Add([]byte("HTTP/1.1 409 Conflict\r\n\r\none\ntwo \x1b[2J \xff\n"))
	f.Add([]byte("HTTP/1.1 301 Moved\r\nLocation: http://192.0.2.1/\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		client := &Client{"other", http.Client{Transport: answers(text), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
		ctx := context.Background()
		status, err := client.Status(ctx)
		if err == nil && status.Side != SideA && status.Side != SideB {
			t.Errorf("side %q", status.Side)
		}
		_, _, numbers := client.Numbers(ctx)
		said := status.Problems
		for _, err := range []error{err, numbers, client.Yield(ctx), client.Claim(ctx)} {
			if err != nil {
				said = append(said, err.Error())
			}
		}
		for _, sentence := range said {
			if strings.ContainsFunc(sentence, unicode.IsControl) {
				t.Errorf("%q", sentence)
			}
		}
	})
}
