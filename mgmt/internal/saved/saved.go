// SPDX-License-Identifier: Apache-2.0

// Package saved keeps the configuration of a box in files: the one that a box gets which has none,
// and how a load is undone that waits for its confirmation.
package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// head begins the file of a saved configuration.
const head = "# The configuration without its SAs, from `sallyctl config save`.\n"

// Files are those of a box. They may be used by one goroutine at a time.
type Files struct {
	path    string
	pending *Pending
}

// Pending is how a load is undone: the lines of the configuration before the load and behind it,
// and when, in seconds since the epoch.
type Pending struct {
	Undo   int64    `json:"undo"`
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// Open takes the files of a saved configuration at a path. A load that waited for its confirmation
// when another daemon ended waits on.
func Open(path string) (*Files, error) {
	f := &Files{path: path}
	text, err := os.ReadFile(f.undoPath())
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read how a load is undone: %w", err)
	}
	p := &Pending{}
	if json.Unmarshal(text, p) == nil { // half a file is of a load that never began
		f.pending = p
	}
	return f, nil
}

// Pending is the load that waits for its confirmation; nil if none does.
func (f *Files) Pending() *Pending { return f.pending }

func (f *Files) undoPath() string { return f.path + ".undo" }

// Read gives the saved configuration, in the words in which the running one is shown; nothing
// without a file.
func (f *Files) Read() (lines []string, commands []xfrm.Command, err error) {
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("cannot read the saved configuration: %w", err)
	}
	if commands, err = xfrm.ParseConfig(f.path, text); err != nil {
		return nil, nil, err
	}
	m := model.NewModel()
	if err := m.Replace(commands); err != nil {
		return nil, nil, err
	}
	return append([]string{}, m.Lines()...), commands, nil
}

// Write saves lines.
func (f *Files) Write(lines []string) error {
	text := head + strings.Join(append(lines, ""), "\n")
	return disk.Failed(fmt.Sprintf("cannot save the configuration to %s, which stays as it was", f.path), disk.Replace(f.path, []byte(text)))
}

// Await stores how a load is undone.
func (f *Files) Await(p *Pending) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = disk.Replace(f.undoPath(), text)
	}
	if err != nil {
		return disk.Failed(fmt.Sprintf("cannot write %s, by which the load would be undone", f.undoPath()), err)
	}
	f.pending = p
	return nil
}

// Settle forgets how a load is undone.
func (f *Files) Settle() error {
	if err := os.Remove(f.undoPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the load still waits for its confirmation: %w", err)
	}
	f.pending = nil
	return nil
}

// Restored are the lines of now without those that the load added, and with those that it took
// away, which keep their places. They are those of now if the load was never carried out.
func (p *Pending) Restored(now []string) []string {
	was, made, is := setOf(p.Before), setOf(p.After), setOf(now)
	var out []string
	for _, line := range p.Before {
		if is[line] || !made[line] {
			out = append(out, line)
		}
	}
	for _, line := range now {
		if !was[line] && !made[line] {
			out = append(out, line)
		}
	}
	return out
}

func setOf(lines []string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		set[line] = true
	}
	return set
}
