// SPDX-License-Identifier: Apache-2.0

package usedkeys

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func key(n int) []byte { return binary.BigEndian.AppendUint64(make([]byte, 28), uint64(n)) }

func mustOpen(t *testing.T, path string, most uint64) *Keys {
	t.Helper()
	k, err := open(path, most, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *Keys) used(t *testing.T, n int) bool {
	t.Helper()
	_, used, err := k.Used(k.Mark(key(n)))
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// TestMarks: a key is known when it comes again, also to another process; the file has nothing
// of it.
func TestMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "var", "keys")
	k := mustOpen(t, path, 4)
	secret := []byte("0123456789abcdef0123456789abcdefsalt")
	if _, used, err := k.Used(k.Mark(secret)); used || err != nil {
		t.Fatal(used, err)
	}
	use := Use{k.Mark(secret), 5, 8, 0x701, netip.MustParseAddr("2001:db8::1")}
	for _, again := range []Use{{use.Mark, 5, 8, 0x700, netip.MustParseAddr("192.0.2.1")}, use} {
		if err := k.Add([]Use{again}); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = mustOpen(t, path, 4)
	defer k.Close()
	if got, used, err := k.Used(k.Mark(secret)); !used || got != use || err != nil {
		t.Fatal(used, got, err)
	}
	if k.used(t, 1) {
		t.Error("a key that never was is known")
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), string(secret[:8])) {
		t.Errorf("the file holds the key, or %v", err)
	}
}

// TestBounded: the last keys are known however many there were, and the file grows no further. One
// rekey is one transaction. SALLYPORT_USED_KEYS is how many rekeys the long form has.
func TestBounded(t *testing.T) {
	most, rekeys, at := 500, 10_000, 1
	if long, err := strconv.Atoi(os.Getenv("SALLYPORT_USED_KEYS")); err == nil {
		most, rekeys, at = Most/4, long, 16
	}
	path := filepath.Join(t.TempDir(), "keys")
	k := mustOpen(t, path, uint64(most))
	defer k.Close()
	var once int64
	for n := 0; n < rekeys; n += at {
		var list []Use
		for i := range at {
			list = append(list, Use{Mark: k.Mark(key(n + i))})
		}
		if err := k.Add(list); err != nil {
			t.Fatal(err)
		}
		if n == rekeys/2 {
			once = size(t, path)
		}
	}
	if now := size(t, path); now > once {
		t.Errorf("the file has %d bytes after %d rekeys, and %d after half of them", now, rekeys, once)
	}
	for n := rekeys - most; n < rekeys; n++ {
		if !k.used(t, n) {
			t.Fatalf("key %d is forgotten", n)
		}
	}
	if k.used(t, rekeys-most-1) {
		t.Error("more keys are known than are to be")
	}
	t.Logf("%d bytes for %d keys after %d rekeys", size(t, path), most, rekeys)
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestDamaged: a file that is none is one sentence.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("no database at all, and long enough to be read as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "cannot open the marks of used keys "+path) {
		t.Error(err)
	}
}

// TestEarlierFile: a mark of a version before nodes is known, of a key that one box alone had, and
// so is one that was cut short.
func TestEarlierFile(t *testing.T) {
	k := mustOpen(t, filepath.Join(t.TempDir(), "keys"), 4)
	defer k.Close()
	m := k.Mark(key(1))
	for cut := range saBytes {
		err := k.db.Update(func(tx *bolt.Tx) error {
			return tx.Bucket(marks).Put(m[:], append(binary.BigEndian.AppendUint64(nil, 1), make([]byte, cut)...))
		})
		if err != nil {
			t.Fatal(err)
		}
		if use, used, err := k.Used(m); !used || use != (Use{Mark: m}) || err != nil {
			t.Error(use, used, err)
		}
	}
}
