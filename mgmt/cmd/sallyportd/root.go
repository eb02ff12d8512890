// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sallyport/mgmt/internal/config"
	"sallyport/mgmt/internal/journal"
	"sallyport/mgmt/internal/xfrm"
)

// version is set by the linker from the file VERSION.
var version = "unknown"

// Exit statuses.
const (
	exitFailed = 1
	exitInput  = 2
)

// usageError is a mistake on the command line or in a file.
type usageError struct{ error }

func newRoot() *cobra.Command {
	var path string
	var check, ports bool
	root := &cobra.Command{
		Use:           "sallyportd",
		Short:         "Own a Sallyport box: its control socket, events and metrics",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unexpected argument %q: see sallyportd --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := hideMemory(); err != nil {
				return err
			}
			c, initial, err := config.Load(path)
			if err != nil {
				return usageError{err}
			}
			defer xfrm.Wipe(initial)
			if check {
				if err := cmp.Or(c.Peer.InTime(), c.API.InTime()); err != nil {
					return usageError{err}
				}
				return c.CheckSaved()
			}
			if ports {
				return closePorts(cmd.Context(), c)
			}
			now := *c
			r := newReloader(path, &now)
			r.level.Set(c.Log.Level.Level)
			log := journal.New(cmd.ErrOrStderr(), &r.level, os.Getenv("JOURNAL_STREAM") != "")
			slog.SetDefault(log)
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return run(ctx, c, initial, log, r)
		},
	}
	root.SetContext(context.Background())
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.Flags().StringVar(&path, "config", config.DefaultPath, "the configuration `file`")
	root.Flags().BoolVar(&check, "check-config", false, "read the configuration and the initial batch, and say what is wrong with them")
	root.Flags().BoolVar(&ports, "close-ports", false, "close the ports of a box of a pair whose daemon has died, and end")
	return root
}
