// Package endpoint declares what the hosts, simulations and handshakes of this module do with a
// transport.Endpoint besides the verbs: they drive its rounds ([Loop]) and set up its connections
// ([Setup]).
package endpoint
