// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/certtest"
	"sallyport/mgmt/internal/config"
)

// TestReload: the level of the log and the certificates change, other parts are named, and a file
// that is wrong changes nothing.
func TestReload(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"box-a", "box-b"} {
		certtest.Write(t, folder, name, time.Hour)
	}
	path := filepath.Join(folder, "sallyportd.toml")
	write := func(more string) {
		t.Helper()
		text := "registers = \"unix:/s\"\n[peer]\nside = \"a\"\nlisten = \"10.0.0.1:1\"\nconnect = \"10.0.0.2:1\"\n" +
			strings.ReplaceAll("certificate = \"F/box-a.pem\"\nkey = \"F/box-a.key\"\ntrust = \"F/box-b.pem\"\nname = \"box-b\"\n", "F", folder) + more
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	c, _, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	r := &reloader{path: path, now: c}
	log := slog.New(slog.NewTextHandler(&text, nil))

	certtest.Write(t, folder, "box-a", 2*time.Hour)
	write("[log]\nlevel = \"debug\"\n[events]\npoll = \"1s\"\n")
	if err := r.reload(log); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(r.identity.Load().Expires()); left < time.Hour || r.level.Level() != slog.LevelDebug {
		t.Errorf("the certificate lasts %v, the level is %v", left, r.level.Level())
	}
	if !strings.Contains(text.String(), "parts=[events]") {
		t.Error(text.String())
	}
	// The clients of the API change, and where it listens takes a restart. A wrong file leaves all.
	network := "[api]\nlisten = \"10.0.0.1:%d\"\n" + strings.ReplaceAll("certificate = \"F/box-a.pem\"\nkey = \"F/%s.key\"\ntrust = \"F/box-b.pem\"\nread = [\"%s\"]\n[log]\nlevel = \"debug\"\n", "F", folder)
	write(fmt.Sprintf(network, 4555, "box-a", "x"))
	if c, _, err = config.Load(path); err != nil {
		t.Fatal(err)
	}
	access, err := c.API.Access()
	if err != nil {
		t.Fatal(err)
	}
	r.now, r.network = c, api.NewNetwork(access)
	for more, waits := range map[string]bool{fmt.Sprintf(network, 4555, "box-a", "y"): false, fmt.Sprintf(network, 4556, "box-a", "x"): true} {
		text.Reset()
		write(more)
		if err := r.reload(log); err != nil || strings.Contains(text.String(), "parts=[api]") != waits {
			t.Errorf("%v, %s", err, text.String())
		}
	}
	write(fmt.Sprintf(network, 4555, "box-b", "x"))
	if err := r.reload(log); err == nil || !strings.Contains(err.Error(), "certificate and key do not belong together") {
		t.Error(err)
	}
	write("[log]\nlevel = \"loud\"\n")
	if err := r.reload(log); err == nil || r.level.Level() != slog.LevelDebug {
		t.Errorf("%v, the level is %v", err, r.level.Level())
	}
}
