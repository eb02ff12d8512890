// SPDX-License-Identifier: Apache-2.0

// Meta writes what a Debian package says of itself: copyright (DEP-5), changelog and the list of
// the modules in its programs (CycloneDX). Each module whose code is in them comes as a line of
// standard input: path, version and folder.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	version := flag.String("version", "", "of the package")
	log := flag.String("changelog", "", "the project's `file`")
	out := flag.String("out", "", "the `folder` of what is written")
	flag.Parse()
	if err := write(*version, *log, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(version, log, out string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be seconds since the epoch: %w", err)
	}
	modules, err := readModules(os.Stdin)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	entries, err := debianLog(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", log, err)
	}
	list, err := bill(version, time.Unix(seconds, 0).UTC(), modules)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"copyright": copyright(modules), "changelog": entries, "sbom.cdx.json": list} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
