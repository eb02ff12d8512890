package main

import (
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/transport"
)

// newTaps is the daemon's part that lets Linux answer for the box, by itself.
func newTaps(o *options) *cobra.Command {
	var redName, blackName string
	cmd := &cobra.Command{
		Use: "taps", Short: "Make Linux the host behind the ports: punted frames come in at TAP devices, until Ctrl-C", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Socket == "" || o.PCI != "" || o.daemon != "" {
				return usageError{errors.New("taps is for the simulator: give --socket PATH alone")}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			b, share, err := (&direct{place: o.Place}).open()
			if err != nil {
				return err
			}
			red, black, err := punt.Of(b, redName, blackName)
			if err := errors.Join(err, b.Close(), share.Close()); err != nil {
				return err
			}
			frames, err := transport.DialFrames(transport.FramesPath(o.Socket))
			if err != nil {
				return err
			}
			devices, err := punt.Open(red, black)
			if err != nil {
				return errors.Join(err, frames.Close())
			}
			for _, d := range []punt.Device{red, black} {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: address %s mtu %d\n", d.Name, d.MAC, d.MTU)
			}
			return punt.Relay(ctx, frames, devices)
		},
	}
	cmd.Flags().StringVar(&redName, "red", "sp-red", "the `device` of the red port")
	cmd.Flags().StringVar(&blackName, "black", "sp-black", "the `device` of the black port")
	return cmd
}
