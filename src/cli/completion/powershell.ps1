# Completion of interpreter and i for PowerShell: add it to the file that $PROFILE names.
Register-ArgumentCompleter -Native -CommandName @('interpreter', 'i') -ScriptBlock {
    param($current, $line, $cursor)
    $words = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
    $before = @($words | Select-Object -Skip 1)
    # A path comes back without its folder.
    $folder = $current -replace '[^/\\]*$', ''
    & $words[0] completion words -- "=$current" @before 2>$null | ForEach-Object {
        $value, $doc = $_ -split "`t", 2
        if ($value -eq ':files') { Get-ChildItem -Name -Path "$current*" | ForEach-Object { [System.Management.Automation.CompletionResult]::new("$folder$_") } }
        elseif ($value -eq ':dirs') { Get-ChildItem -Name -Directory -Path "$current*" | ForEach-Object { [System.Management.Automation.CompletionResult]::new("$folder$_") } }
        else {
            if (-not $doc) { $doc = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $doc)
        }
    }
}
