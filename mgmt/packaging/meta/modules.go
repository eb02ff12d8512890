// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one whose code is in the programs, or Go's own library.
type module struct {
	path, version string
	licences      []licence
	notice        string // that Apache-2.0 asks to hand on (4 d)
}

// licence is one under which code may be used, by SPDX's name.
type licence struct {
	name, text string
	holders    []string
}

// readModules reads lines of path, version and folder.
func readModules(in io.Reader) (modules []module, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			return nil, fmt.Errorf("%q is not the path, version and folder of a module", lines.Text())
		}
		m := module{path: words[0], version: words[1]}
		if err := m.readFolder(words[2]); err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, lines.Err()
}

func (m *module) readFolder(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "[LN][IiOo][CcTt][EeIi]*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if base := filepath.Base(name); strings.HasPrefix(base, "NOTICE") {
			m.notice = strings.TrimSpace(string(text))
			continue
		}
		l, err := readLicence(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m.licences = append(m.licences, l)
	}
	if len(m.licences) == 0 {
		return fmt.Errorf("the module %s %s has no licence in %s", m.path, m.version, folder)
	}
	return nil
}

// choice begins what follows BSD's licence where one of two may be chosen, as libcap's.
var choice = regexp.MustCompile(`(?s)\n-+\nGPL v2\.0:.*`)

// holder is a line that names who has the copyright.
var holder = regexp.MustCompile(`(?mi)^[ \t/*#]*(?:portions )?copyright (?:\(c\)|©)?[ \t]*((?:19|20)\d\d.*?)[ \t.]*(?:all rights reserved)?[ \t.]*$`)

// readLicence tells the licences that occur apart.
func readLicence(text string) (l licence, err error) {
	l.text = strings.TrimSpace(choice.ReplaceAllString(text, ""))
	has := func(words string) bool {
		return strings.Contains(strings.Join(strings.Fields(l.text), " "), words)
	}
	switch {
	case has("Apache License") && has("Version 2.0"):
		l.name = "Apache-2.0"
	case has("Permission is hereby granted, free of charge"):
		l.name = "MIT"
	case has("Redistribution and use in source and binary forms") && has("used to endorse or promote"):
		l.name = "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		l.name = "BSD-2-Clause"
	default:
		return l, fmt.Errorf("the licence is none of those that the package may have: Apache-2.0, BSD or MIT")
	}
	for _, match := range holder.FindAllStringSubmatch(l.text, -1) {
		l.holders = append(l.holders, match[1])
	}
	slices.Sort(l.holders)
	l.holders = slices.Compact(l.holders)
	return l, nil
}
