# Completion of interpreter and i for bash: source it, or put it into
# ~/.local/share/bash-completion/completions/interpreter (and a link named i beside it).
_interpreter() {
    local line current prefix value
    local -a words
    # The words as a person sees them: bash would also split at : and =.
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    current=${words[-1]}
    unset 'words[-1]'
    prefix=${current%"${current##*[:=]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${current#"$prefix"}") ;;
            :dirs) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "${current#"$prefix"}") ;;
            *)
                value=${line%%$'\t'*}
                [[ $value == *= ]] && compopt -o nospace
                COMPREPLY+=("${value#"$prefix"}")
                ;;
        esac
    done < <(command "${words[0]}" completion words -- "=$current" "${words[@]:1}" 2>/dev/null)
}
complete -F _interpreter interpreter i
