// SPDX-License-Identifier: Apache-2.0

// Package pages writes a program's man pages, and what shells complete its words by, from its
// commands.
package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Main is that of a program that is built with the tag `pages`: its argument is the folder. The
// same commands and SOURCE_DATE_EPOCH give the same bytes.
func Main(root *cobra.Command, section string) {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("give the folder in which the pages of %s are to be", root.Name()))
	}
	if err := write(root, section, os.Args[1]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

func write(root *cobra.Command, section, folder string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be seconds since the epoch: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: section, Date: &date, Source: "Sallyport " + root.Version, Manual: "Sallyport"}
	man, shells := filepath.Join(folder, "man"+section), filepath.Join(folder, "shells")
	for _, folder := range []string{man, shells} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if err := doc.GenManTree(root, header, man); err != nil {
		return err
	}
	for shell, complete := range map[string]func(string) error{
		"bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"zsh":  root.GenZshCompletionFile,
		"fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
	} {
		if err := complete(filepath.Join(shells, root.Name()+"."+shell)); err != nil {
			return err
		}
	}
	return nil
}
