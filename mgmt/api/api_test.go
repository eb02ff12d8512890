// SPDX-License-Identifier: Apache-2.0

package api

import "testing"

// TestPath: each control socket has an API's of its own.
func TestPath(t *testing.T) {
	for control, want := range map[string]string{
		"/run/sallyport/control.sock": DefaultPath, "/run/sallyport/control-read.sock": "/run/sallyport/api-read.sock",
		"/t/control-a.sock": "/t/api-a.sock", "/control/box0.sock": "/control/box0-api.sock", "box0-read.sock": "box0-api-read.sock", "none": "none-api.sock",
		DefaultPath: DefaultPath, "/t/box0-api-read.sock": "/t/box0-api-read.sock",
	} {
		if got := Path(control); got != want {
			t.Errorf("%s has %s, want %s", control, got, want)
		}
	}
}

// TestSeal: sealed text is opened for its method alone, and only with its key.
func TestSeal(t *testing.T) {
	key, err := NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewSealingKey()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := Seal(key.PublicKey().Bytes(), "Batch", []byte("text"))
	if err != nil || len(sealed) != len("text")+SealedOverhead {
		t.Fatalf("%d bytes, %v", len(sealed), err)
	}
	if text, err := Unseal(key, "Batch", sealed); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Unseal(key, "Command", sealed); err == nil {
		t.Error("opened for another method")
	}
	if _, err := Unseal(other, "Batch", sealed); err == nil {
		t.Error("opened by another key")
	}
	if _, err := Seal(make([]byte, 31), "Batch", nil); err == nil {
		t.Error("sealed for half a key")
	}
}
