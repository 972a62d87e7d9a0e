# Midrail: what commands print passes through `midrail redact`, because this program cannot replace the output of a command
# that fails. The command, its exit code and the rules of permission stay as they are.
if [ -n "${MIDRAIL_REDACTED:-}" ]; then
  unset MIDRAIL_REDACTED
elif [ -n "${BASH_EXECUTION_STRING:-}" ]; then
  MIDRAIL_REDACTED=1 exec @REDACT@ -- "$BASH" -c "$BASH_EXECUTION_STRING" "$0" "$@"
elif [ -n "${ZSH_EXECUTION_STRING:-}" ]; then
  MIDRAIL_REDACTED=1 exec @REDACT@ -- zsh -c "$ZSH_EXECUTION_STRING" "$ZSH_ARGZERO" "$@"
fi
