"""OSMO's front end: pool configs and workflow specs become queues, topologies, gangs and pods. Source: spec/osmo.md."""
