// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sallyport/mgmt/api/client"
	"sallyport/mgmt/internal/yang"
)

func newYANG(o *options) *cobra.Command {
	group := &cobra.Command{Use: "yang", Short: "The SPD and SAD in RFC 9061's YANG module ietf-i2nsf-ikeless, as JSON: show, load, delete, monitor", Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	show := &cobra.Command{
		Use: "show", Short: "Print the SPD and SAD, without keys; with -s what each SA has carried", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.yang(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
				text, leftOut, err := yang.Show(ctx, c, o.lists.Statistics)
				if err == nil {
					_, err = cmd.OutOrStdout().Write(text)
				}
				return leftOut, err
			})
		},
	}
	load := &cobra.Command{
		Use: "load FILE", Short: "Create or replace the entries of a document (- is standard input), all or none; others stay",
		Args: arguments(1, 1, "yang load takes one file: sallyctl yang load FILE, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, text, err := readBatch(args[0], cmd.InOrStdin())
			if err != nil {
				return usageError{err}
			}
			defer clear(text) // it holds keys
			return o.yang(cmd, func(ctx context.Context, c *client.Client) ([]string, error) { return yang.Load(ctx, c, text) })
		},
	}
	remove := &cobra.Command{
		Use: "delete spd|sad NAME …", Short: "Delete entries of the SPD or the SAD by their names, all or none",
		Args: arguments(2, -1, "yang delete takes spd or sad and names: sallyctl yang delete sad NAME"), ValidArgs: []string{"spd", "sad"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "spd" && args[0] != "sad" {
				return usageError{fmt.Errorf("yang delete takes spd or sad, not %q", args[0])}
			}
			return o.yang(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
				return yang.Delete(ctx, c, args[0], args[1:])
			})
		},
	}
	monitor := &cobra.Command{
		Use: "monitor", Short: "Print events as notifications of the module, a line each, until sallyportd ends", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.yang(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
				return nil, yang.Monitor(ctx, c, func(line []byte) error {
					_, err := cmd.OutOrStdout().Write(line)
					return err
				})
			})
		},
	}
	group.AddCommand(show, load, remove, monitor)
	return group
}

// arguments demands a number of arguments; -1 is any.
func arguments(least, most int, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usageError{errors.New(usage)}
		}
		return nil
	}
}

// yang has a daemon do something, and prints notes on standard error.
func (o *options) yang(cmd *cobra.Command, use func(context.Context, *client.Client) ([]string, error)) error {
	return o.with(cmd, func(t target) error {
		daemon, is := t.(*remote)
		if !is {
			return usageError{errors.New("yang is of sallyportd: give --daemon PATH")}
		}
		var refusal *yang.Refusal
		err := daemon.with(func(ctx context.Context, c *client.Client) error {
			notes, err := use(ctx, c)
			printLines(cmd.ErrOrStderr(), "", notes)
			errors.As(err, &refusal)
			return err
		})
		if refusal != nil {
			return usageError{refusal}
		}
		return err
	})
}
