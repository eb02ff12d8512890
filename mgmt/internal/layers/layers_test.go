// SPDX-License-Identifier: Apache-2.0

// Package layers has no code: it checks that the packages of this module refer to each other in one
// direction.
package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// upwards are the packages from the lowest to the highest. Each may import only those before it.
// A change goes down from the daemon to the chips; nothing on that way knows who asked for it.
var upwards = strings.Fields(`
	regs suite clock cuckoo fair prefixes journal disk transport xfrm byprefix keys
	card chip place
	learned model hostroutes steer vrf compile plan usedkeys store saved events hub session upsets
	listen mutual control wire peer pair
	roster mesh membership
	punt shares spis waiting rib hostrows answers caller
	config
	daemon
	api web traffic yang
	fakebox testbox certtest peertest killpoint
	pages
`)

// mostFiles is how many files a package has at most, its tests among them.
const mostFiles = 40

const module = "sallyport/mgmt/internal/"

// TestLayers: no package imports one that is not below it, and none has more files than one
// can know.
func TestLayers(t *testing.T) {
	folders, err := filepath.Glob("../*")
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) != len(upwards)+1 {
		t.Errorf("%d packages stand in the order, but there are %d folders", len(upwards), len(folders))
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		own := slices.Index(upwards, name)
		if own < 0 && name != "layers" {
			t.Errorf("%s has no place in the order", name)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > mostFiles {
			t.Errorf("%s has %d files, more than %d", name, len(files), mostFiles)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue // a test may look on from above
			}
			for _, imported := range importsOf(t, file) {
				if below := slices.Index(upwards, imported); below < 0 || below >= own {
					t.Errorf("%s imports %s, which is not below it", file, imported)
				}
			}
		}
	}
}

// TestOutside: what other programs import, in mgmt/api, imports nothing that they could not.
func TestOutside(t *testing.T) {
	count := 0
	err := filepath.WalkDir("../../api", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		count++
		if names := importsOf(t, path); len(names) > 0 {
			t.Errorf("%s imports %v of internal", path, names)
		}
		return nil
	})
	if err != nil || count < 5 {
		t.Errorf("%d files, %v", count, err)
	}
}

// importsOf are the packages of this module that a file imports.
func importsOf(t *testing.T, file string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if name, ours := strings.CutPrefix(path, module); ours {
			names = append(names, name)
		}
	}
	return names
}
