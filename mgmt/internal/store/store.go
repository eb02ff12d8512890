// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	bolt "go.etcd.io/bbolt"
	damage "go.etcd.io/bbolt/errors"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// format changes when an older file can no longer be read. 7 is that of the files of JSON, which
// are taken over.
const format = 8

// Store is a file, which this process alone has until Close.
type Store struct {
	db *bolt.DB
	// reserved is up to where the file has room that Reserve has asked for; 0: for nothing.
	reserved int64
	learned  map[model.NextHop]xfrm.MAC // as they are in the file
}

// The buckets besides those of the image's tables.
var (
	sasBucket      = []byte("sas")      // by age
	policiesBucket = []byte("policies") // by place
	restBucket     = []byte("rest")     // all else, under one key, but for learned hosts
	restKey        = []byte("rest")
	learnedBucket  = []byte("learned") // hosts, under one key: they are many, and seldom change
	learnedKey     = []byte("learned")
	// Routes of Linux behind each port, by prefix. Those of VRFs have buckets of their own.
	routesBuckets = map[string][]byte{xfrm.Red: []byte("routes"), xfrm.Black: []byte("black_routes"), learned.Steering: []byte("steering_routes")}
)

// routesBucket has the routes of a set.
func routesBucket(set string) []byte {
	if name, fixed := routesBuckets[set]; fixed {
		return name
	}
	return []byte("routes_of " + set)
}

// routeSets are the buckets of the sets of routes that there may be, by set.
func routeSets(tx *bolt.Tx) map[string][]byte {
	all := maps.Clone(routesBuckets)
	c := tx.Cursor()
	start := []byte("routes_of ")
	for name, _ := c.Seek(start); bytes.HasPrefix(name, start); name, _ = c.Next() {
		all[string(name[len(start):])] = bytes.Clone(name)
	}
	return all
}

// rest has the small parts of the state.
type rest struct {
	Format     int                 `json:"format"`
	Generation uint32              `json:"generation"`
	Network    model.Network       `json:"network"`
	RedHop     map[int]compile.Hop `json:"red_hop,omitempty"`
	BlackHop   map[int]compile.Hop `json:"black_hop,omitempty"`
	Hops       []model.NextHop     `json:"hops,omitempty"`
}

// Open opens the file, or makes it; one of format 7, there or at PATH.json, becomes one of
// this format.
func Open(path string) (*Store, error) {
	if err := takeOver(path); err != nil {
		return nil, err
	}
	db, err := bolt.Open(path, 0o600, nil)
	if errors.Is(err, damage.ErrInvalid) || errors.Is(err, damage.ErrVersionMismatch) || errors.Is(err, damage.ErrChecksum) {
		return nil, errDamaged(path, err)
	}
	if err != nil {
		return nil, disk.Failed("cannot open the state file "+path, err)
	}
	return &Store{db: db}, nil
}

func errDamaged(path string, err error) error {
	return fmt.Errorf("the state file %s is damaged (%w): remove it and load the configuration again", path, err)
}

// Close lets others have the file.
func (s *Store) Close() error { return s.db.Close() }

// Load reads everything. A file that is new is an empty configuration.
func (s *Store) Load() (*State, error) {
	out := NewState()
	err := s.db.View(func(tx *bolt.Tx) error { return s.load(tx, out) })
	if err != nil {
		return nil, errDamaged(s.db.Path(), err)
	}
	return out, nil
}

func (s *Store) load(tx *bolt.Tx, out *State) error {
	bucket := tx.Bucket(restBucket)
	if bucket == nil {
		return nil
	}
	var r rest
	if err := json.Unmarshal(bucket.Get(restKey), &r); err != nil {
		return err
	}
	if r.Format != format {
		return fmt.Errorf("it has format %d, this program reads %d", r.Format, format)
	}
	out.Generation, out.Model.Network, out.Hops = r.Generation, r.Network, r.Hops
	out.Image.RedHop, out.Image.BlackHop = r.RedHop, r.BlackHop
	s.learned = nil
	if hosts := tx.Bucket(learnedBucket); hosts != nil {
		if err := json.Unmarshal(hosts.Get(learnedKey), &s.learned); err != nil {
			return err
		}
	}
	// A program of before has them in the rest, and they are newer there.
	if out.Model.Learned == nil {
		out.Model.Learned = maps.Clone(s.learned)
	}
	err := each(tx, sasBucket, func(_ uint64, text []byte) error {
		sa := &model.SA{}
		if err := json.Unmarshal(text, sa); err != nil {
			return err
		}
		out.Model.LoadSA(sa)
		out.Image.Keys(sa.Way).Add(sa.Row)
		return nil
	})
	if err != nil {
		return err
	}
	err = each(tx, policiesBucket, func(place uint64, text []byte) error {
		p := &model.Policy{}
		if err := json.Unmarshal(text, p); err != nil {
			return err
		}
		out.Model.LoadPolicy(place, p)
		return nil
	})
	if err != nil {
		return err
	}
	for dev, name := range routeSets(tx) {
		routes := tx.Bucket(name)
		if routes == nil {
			continue
		}
		err := routes.ForEach(func(_, text []byte) error {
			r := &learned.Route{}
			err := json.Unmarshal(text, r)
			if err == nil {
				out.Model.LoadRoute(dev, r)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for name, rows := range out.Image.Rows() {
		*rows = map[int]compile.Row{}
		if err := each(tx, []byte(name), func(index uint64, text []byte) error {
			(*rows)[int(index)] = rowOf(text)
			return nil
		}); err != nil {
			return err
		}
	}
	for name, rules := range out.Image.Rules() {
		*rules = map[int]compile.Rule{}
		if err := each(tx, []byte(name), func(index uint64, text []byte) error {
			var rule compile.Rule
			err := json.Unmarshal(text, &rule)
			(*rules)[int(index)] = rule
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// each gives the records of a bucket in their order.
func each(tx *bolt.Tx, name []byte, take func(key uint64, value []byte) error) error {
	bucket := tx.Bucket(name)
	if bucket == nil {
		return nil
	}
	return bucket.ForEach(func(key, value []byte) error { return take(binary.BigEndian.Uint64(key), value) })
}

func rowOf(text []byte) compile.Row {
	row := make(compile.Row, len(text)/4)
	for i := range row {
		row[i] = binary.LittleEndian.Uint32(text[4*i:])
	}
	return row
}

func textOf(row compile.Row) (text []byte) {
	for _, word := range row {
		text = binary.LittleEndian.AppendUint32(text, word)
	}
	return text
}

// takeOver makes a file of this format from one of format 7, which was one JSON value.
func takeOver(path string) error {
	for _, old := range []string{path, path + ".json"} {
		text, err := os.ReadFile(old)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read the state file: %w", err)
		}
		if len(text) == 0 || text[0] != '{' {
			return nil
		}
		return convert(path, old, text)
	}
	return nil
}

func convert(path, old string, text []byte) error {
	read := struct {
		Format int `json:"format"`
		*State
	}{State: NewState()}
	if err := json.Unmarshal(text, &read); err != nil {
		return errDamaged(old, err)
	}
	if read.Format != format-1 || read.Model == nil || read.Image == nil {
		return fmt.Errorf("the state file %s has format %d, this program reads %d and %d: remove it and load the configuration again with new keys, because its marks of used keys are lost", old, read.Format, format-1, format)
	}
	begun := path + ".new"
	if err := os.Remove(begun); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the state file: %w", err)
	}
	s, err := Open(begun)
	if err != nil {
		return err
	}
	if err := errors.Join(s.SaveAll(read.State), s.Close()); err != nil {
		return err
	}
	if old == path {
		return rename(begun, path)
	}
	// The entries beside it come along: a change that was cut short, and the marks of used keys.
	for _, beside := range []string{".journal", ".keys"} {
		if err := rename(old+beside, path+beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := rename(begun, path); err != nil {
		return err
	}
	return os.Remove(old)
}

func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("cannot write the state file: %w", err)
	}
	return nil
}
