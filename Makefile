# Shortcuts for scripts/lab, which does the work; `make` alone lists them.

LAB := ./scripts/lab

.DEFAULT_GOAL := help
.PHONY: help quickstart doctor up status down smoke report test lint unit

help: ## List the shortcuts.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

quickstart: ## From nothing to a first number and its report.
	$(LAB) quickstart

doctor: ## Check this machine.
	$(LAB) doctor

up: ## Start the lab.
	$(LAB) up

status: ## Show services, addresses and running flows.
	$(LAB) status

down: ## Stop the lab; ledgers stay.
	$(LAB) down

smoke: ## Run the smallest sweep, on a lab of its own.
	$(LAB) sweep smoke

report: ## Make the report of the newest run again.
	$(LAB) report latest

lint: ## Run formatters and linters.
	$(LAB) test --part lint

unit: ## Run every Python and Java test that needs no running lab.
	$(LAB) test --part unit --part java

test: ## Run what CI runs: every check and test, including those on real nodes.
	$(LAB) test
