// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"sallyport/mgmt/api"
	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
)

// TestSealed: a sealed text is opened once, whole, unchanged, and by the method it was sealed for.
func TestSealed(t *testing.T) {
	r := newRig(t)
	c := r.client(r.path)
	key, err := c.GetSealingKey(t.Context(), &sallyportv1.GetSealingKeyRequest{})
	r.must(err)
	seal := func(method string) []byte {
		text, err := api.Seal(key.PublicKey, method, []byte("addr add 192.0.2.1/24 dev black\n"))
		r.must(err)
		return text
	}
	send := func(id, text []byte) error {
		_, err := c.Batch(t.Context(), &sallyportv1.BatchRequest{Sealed: &sallyportv1.Sealed{KeyId: id, Text: text}})
		return err
	}
	good := seal("Batch")
	changed := bytes.Clone(good)
	changed[len(changed)-1] ^= 1
	for name, test := range map[string]struct {
		id, text []byte
		code     connect.Code
		want     string
	}{
		"cut by a byte":  {key.KeyId, good[:len(good)-1], connect.CodeInvalidArgument, "cannot be opened"},
		"shorter by one": {key.KeyId, good[:api.SealedOverhead-1], connect.CodeInvalidArgument, "has 47 bytes, and the shortest has 48"},
		"the shortest":   {key.KeyId, good[:api.SealedOverhead], connect.CodeInvalidArgument, "cannot be opened"},
		"nothing":        {key.KeyId, nil, connect.CodeInvalidArgument, "has 0 bytes"},
		"a flipped bit":  {key.KeyId, changed, connect.CodeInvalidArgument, "cannot be opened"},
		"another method": {key.KeyId, seal("Command"), connect.CodeInvalidArgument, "sealed for another method than Batch"},
		"another key":    {[]byte("x"), good, connect.CodeAborted, "ask GetSealingKey again"},
	} {
		if err := send(test.id, test.text); connect.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.must(send(key.KeyId, good))
	if err := send(key.KeyId, good); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "was opened before") {
		t.Errorf("a text that comes again: %v", err)
	}
	_, err = c.Batch(t.Context(), &sallyportv1.BatchRequest{Lines: []string{"qos show"}, Sealed: &sallyportv1.Sealed{KeyId: key.KeyId, Text: seal("Batch")}})
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "beside sealed text") {
		t.Errorf("both at once: %v", err)
	}
}

// TestNewKey: the daemon makes another key behind as many texts as it remembers, and so does one
// that is started again; a client seals anew.
func TestNewKey(t *testing.T) {
	r := newRig(t)
	c := r.client(r.path)
	for _, more := range []int{mostOpened - 2, mostOpened - 1} {
		_, err := c.SealedCommand(t.Context(), []byte("qos\nshow\n"), nil)
		r.must(err)
		before := r.server.keys.public()
		r.server.keys.mu.Lock()
		for i := len(r.server.keys.opened); i < more; i++ {
			r.server.keys.opened[[api.EncapsulatedBytes]byte{1, byte(i), byte(i >> 8), byte(i >> 16)}] = struct{}{}
		}
		r.server.keys.mu.Unlock()
		_, err = c.SealedCommand(t.Context(), []byte("qos\nshow\n"), nil)
		r.must(err)
		if same := bytes.Equal(before.KeyId, r.server.keys.public().KeyId); same != (more == mostOpened-2) {
			t.Errorf("behind %d texts the key is the same: %t", more+1, same)
		}
	}
	_, err := c.SealedCommand(t.Context(), []byte("qos\nshow\n"), nil)
	r.must(err)
}

// TestOpenKeys: an SA in open text is refused and not installed, because its key would stay in
// memory.
func TestOpenKeys(t *testing.T) {
	r := newRig(t)
	c := r.client(r.path)
	line := "xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0fa0a1a2a3 128"
	_, batch := c.Batch(t.Context(), &sallyportv1.BatchRequest{Lines: []string{line}, File: "f"})
	_, command := c.Command(t.Context(), &sallyportv1.CommandRequest{Words: strings.Fields(strings.ReplaceAll(line, "'", ""))})
	for _, err := range []error{batch, command} {
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "has to come sealed") {
			t.Error(err)
		}
	}
	if len(r.fake.Log) != 0 {
		t.Errorf("%d rows were written", len(r.fake.Log))
	}
}
