// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	sallyportv1 "sallyport/mgmt/api/sallyport/v1"
	"sallyport/mgmt/internal/control"
)

func newConfig(o *options) *cobra.Command {
	config := &cobra.Command{Use: "config", Short: "The configuration without its SAs: show, save, diff, load, confirm", Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var saved bool
	show := &cobra.Command{
		Use: "show", Short: "Print the running configuration, as lines that load takes", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			verb := control.ConfigShow
			if saved {
				verb = control.ConfigSaved
			}
			answer, err := o.config(cmd, &sallyportv1.ConfigRequest{Verb: string(verb)})
			if err == nil && o.lists.JSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(answer.Lines)
			}
			printLines(cmd.OutOrStdout(), "", answer.Lines)
			return err
		},
	}
	show.Flags().BoolVar(&saved, "saved", false, "print the saved one")
	save := &cobra.Command{
		Use: "save", Short: "Save the running configuration, which a box gets that has none", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := o.config(cmd, &sallyportv1.ConfigRequest{Verb: string(control.ConfigSave)})
			return err
		},
	}
	diff := &cobra.Command{
		Use: "diff", Short: "Print lines of the saved configuration alone (-) and of the running one alone (+)", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.diff(cmd) },
	}
	confirm := &cobra.Command{
		Use: "confirm", Short: "Keep what load --confirm has loaded", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := o.config(cmd, &sallyportv1.ConfigRequest{Verb: string(control.ConfigConfirm)})
			return err
		},
	}
	config.AddCommand(show, save, diff, newLoad(o), confirm)
	return config
}

func newLoad(o *options) *cobra.Command {
	var seconds int
	load := &cobra.Command{
		Use: "load FILE", Short: "Make the running configuration that of a file (- is standard input), or change nothing; SAs stay",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("config load takes one file: sallyctl config load FILE, or - for standard input")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("confirm") && (seconds < 1 || seconds > control.MostConfirm) {
				return usageError{fmt.Errorf("--confirm takes 1 to %d seconds, not %d", control.MostConfirm, seconds)}
			}
			name, input, err := readBatch(args[0], cmd.InOrStdin())
			if err != nil {
				return usageError{err}
			}
			_, err = o.config(cmd, &sallyportv1.ConfigRequest{Verb: string(control.ConfigLoad), Lines: textOf(linesOf(input)), File: name, Confirm: int32(seconds)})
			return err
		},
	}
	load.Flags().IntVar(&seconds, "confirm", 0, "undo it after so many `seconds`, unless config confirm comes first")
	return load
}

// textOf are lines as text: they hold no keys.
func textOf(lines [][]byte) (out []string) {
	for _, line := range lines {
		out = append(out, string(line))
	}
	return out
}

// config sends a request, and prints its notes.
func (o *options) config(cmd *cobra.Command, request *sallyportv1.ConfigRequest) (answer control.Config, err error) {
	err = o.with(cmd, func(t target) (err error) {
		answer, err = t.config(request)
		return err
	})
	printLines(cmd.ErrOrStderr(), "", answer.Notes)
	if answer.Undo != 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: the load is undone at %s, unless sallyctl config confirm comes first\n", time.Unix(answer.Undo, 0).Format(time.TimeOnly))
	}
	return answer, err
}

// diff prints how the running configuration differs from the saved one.
func (o *options) diff(cmd *cobra.Command) error {
	saved, err := o.config(cmd, &sallyportv1.ConfigRequest{Verb: string(control.ConfigSaved)})
	if err != nil {
		return err
	}
	running, err := o.config(cmd, &sallyportv1.ConfigRequest{Verb: string(control.ConfigShow)})
	if err != nil {
		return err
	}
	printLines(cmd.OutOrStdout(), "-", without(saved.Lines, running.Lines))
	printLines(cmd.OutOrStdout(), "+", without(running.Lines, saved.Lines))
	return nil
}

// without are the lines that others do not have.
func without(lines, others []string) (out []string) {
	has := map[string]bool{}
	for _, line := range others {
		has[line] = true
	}
	for _, line := range lines {
		if !has[line] {
			out = append(out, line)
		}
	}
	return out
}

func printLines(out io.Writer, mark string, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(out, mark+line)
	}
}
