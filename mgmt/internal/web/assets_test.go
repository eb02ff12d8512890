// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"strings"
	"testing"
)

// plots is the library of plots as its authors published it (npm package uplot, version 1.6.32).
var plots = map[string]string{
	"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
	"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}

var named = regexp.MustCompile(`(?:src|href)="([^"]+)"|from "\./([^"]+)"`)

// TestAssets: all that the page names is in the program, nothing is from elsewhere, no text becomes
// HTML, and the library is the published one.
func TestAssets(t *testing.T) {
	entries, err := files.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("assets", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if want := plots[entry.Name()]; want != "" {
			if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
				t.Errorf("%s is not the one of version 1.6.32: %x", entry.Name(), sum)
			}
			continue
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			if _, err := files.Open(path.Join("assets", match[1]+match[2])); err != nil {
				t.Errorf("%s: %v", entry.Name(), err)
			}
		}
		for _, wrong := range []string{"https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=", " onclick="} {
			if strings.Contains(string(text), wrong) {
				t.Errorf("%s has %s", entry.Name(), wrong)
			}
		}
	}
}
