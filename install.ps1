# Installs `interpreter` (and its short name `i`) on Windows for one user. No administrator, nothing but PowerShell 5.1 or
# later. Run it again to upgrade; -Uninstall takes everything away but your config and sessions.
#
#   install.ps1 [-Version X.Y.Z] [-From FILE.zip] [-To DIR] [-NoPath] [-Uninstall [-Purge]]
#
#   -Version X.Y.Z  that release instead of the newest
#   -From FILE      a local archive, with its checksum in FILE.sha256 beside it
#   -To DIR         the folder of the programs (default: %LOCALAPPDATA%\Programs\interpreter)
#   -NoPath         leave the user's PATH alone
#   -Uninstall      remove the programs; -Purge also removes the config, sessions and history
#
# INTERPRETER_RELEASES names another place for the archives: what stands before /download/vX.Y.Z/.
[CmdletBinding()]
param(
    [string]$Version = '',
    [string]$From = '',
    [string]$To = '',
    [switch]$NoPath,
    [switch]$Uninstall,
    [switch]$Purge
)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue' # its bar makes a download many times slower in PowerShell 5

function Stop-Install([string]$Why) { throw "install.ps1: $Why" }

$releases = if ($env:INTERPRETER_RELEASES) { $env:INTERPRETER_RELEASES } else { 'https://github.com/OpenInterpreter/open-interpreter/releases' }
$profileDir = if ($env:USERPROFILE) { $env:USERPROFILE } else { $HOME }
if (-not $To) {
    $base = if ($env:LOCALAPPDATA) { $env:LOCALAPPDATA } else { Join-Path $profileDir 'AppData\Local' }
    $To = Join-Path (Join-Path $base 'Programs') 'interpreter'
}
if ($Version -match '^v(.+)$') { $Version = $Matches[1] }
if ($Version -and $Version -notmatch '^[0-9A-Za-z.+-]+$') { Stop-Install "'$Version' is no version; write it like 1.2.3" }
if ($Purge -and -not $Uninstall) { Stop-Install '-Purge goes with -Uninstall' }
$programs = @('interpreter.exe', 'i.exe')

# The folders of the user's own PATH; other systems than Windows have none that could be set here.
function Get-UserPath {
    $value = [Environment]::GetEnvironmentVariable('Path', 'User')
    if (-not $value) { return @() }
    return @($value -split ';' | Where-Object { $_ })
}
function Set-UserPath([string[]]$Folders) {
    [Environment]::SetEnvironmentVariable('Path', ($Folders -join ';'), 'User')
}

if ($Uninstall) {
    foreach ($name in $programs) {
        $file = Join-Path $To $name
        if (Test-Path -LiteralPath $file) { Remove-Item -LiteralPath $file -Force }
    }
    if ((Test-Path -LiteralPath $To) -and -not (Get-ChildItem -LiteralPath $To -Force)) { Remove-Item -LiteralPath $To -Force }
    if (-not $NoPath) {
        $folders = @(Get-UserPath)
        if ($folders -contains $To) { Set-UserPath @($folders | Where-Object { $_ -ne $To }) }
    }
    Write-Output "removed interpreter from $To"
    $data = if ($env:INTERPRETER_HOME) { $env:INTERPRETER_HOME } else { Join-Path $profileDir '.openinterpreter' }
    if ($Purge) {
        $root = [IO.Path]::GetPathRoot([IO.Path]::GetFullPath($data))
        if ($data.TrimEnd('\', '/') -eq $profileDir.TrimEnd('\', '/') -or $data -eq $root) { Stop-Install "INTERPRETER_HOME is '$data': that is not removed" }
        if (Test-Path -LiteralPath $data) { Remove-Item -LiteralPath $data -Recurse -Force }
        Write-Output "removed $data"
    }
    elseif (Test-Path -LiteralPath $data) {
        Write-Output "config and sessions stay in $data (-Purge removes them)"
    }
    return
}

function Save-Url([string]$Url, [string]$File) {
    if ($Url -notmatch '^(https://|file://|http://(127\.0\.0\.1|localhost)[:/])') { Stop-Install "$Url is not https" }
    try {
        [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
        (New-Object Net.WebClient).DownloadFile($Url, $File)
    }
    catch { Stop-Install "could not download ${Url}: $($_.Exception.Message)" }
}

$scratch = Join-Path ([IO.Path]::GetTempPath()) ('interpreter-install-' + [Guid]::NewGuid().ToString('N'))
New-Item -ItemType Directory -Path $scratch | Out-Null
try {
    if (-not $From) {
        $machine = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
        # Windows on Arm runs the x86-64 program.
        if ($machine -notin @('AMD64', 'ARM64')) { Stop-Install "no build for the processor $machine; with Rust, 'cargo install --path .' in the source builds one" }
        if (-not $Version) {
            Save-Url "$releases/latest/download/VERSION" (Join-Path $scratch 'VERSION')
            $Version = ([string](Get-Content -LiteralPath (Join-Path $scratch 'VERSION') -TotalCount 1)).Trim()
            if ($Version -notmatch '^[0-9A-Za-z.+-]+$') { Stop-Install "$releases does not say which version is the newest; pass -Version" }
        }
        $name = "interpreter-$Version-x86_64-pc-windows-msvc.zip"
        $From = Join-Path $scratch $name
        Write-Output "downloading interpreter $Version"
        Save-Url "$releases/download/v$Version/$name" $From
        Save-Url "$releases/download/v$Version/$name.sha256" "$From.sha256"
    }
    if (-not (Test-Path -LiteralPath $From)) { Stop-Install "$From does not exist" }
    if (-not (Test-Path -LiteralPath "$From.sha256")) { Stop-Install "$From.sha256 is missing, so the archive cannot be checked" }
    $wanted = (([string](Get-Content -LiteralPath "$From.sha256" -TotalCount 1)) -split '\s+')[0]
    $found = (Get-FileHash -LiteralPath $From -Algorithm SHA256).Hash
    if (-not $wanted -or $wanted -ne $found) {
        Stop-Install "the checksum of $(Split-Path -Leaf $From) is $($found.ToLower()) and should be ${wanted}: it is damaged or not what was published; nothing was installed"
    }
    $out = Join-Path $scratch 'out'
    Expand-Archive -LiteralPath $From -DestinationPath $out
    $new = Get-ChildItem -LiteralPath $out -Recurse -Filter 'interpreter.exe' | Select-Object -First 1
    if (-not $new) { Stop-Install "there is no program interpreter.exe in $From" }
    $told = ''
    try { $told = [string](& $new.FullName --version) } catch { Stop-Install "the program does not run here: $($_.Exception.Message)" }
    if ($LASTEXITCODE -ne 0) { Stop-Install "the program does not run here: $told" }
    if ($Version -and (" $told " -notlike "* $Version *")) { Stop-Install "the archive holds '$told', not version $Version" }

    New-Item -ItemType Directory -Force -Path $To | Out-Null
    foreach ($name in $programs) {
        $file = Join-Path $To $name
        # A program that runs can be renamed, not replaced.
        if (Test-Path -LiteralPath $file) {
            $old = "$file.old"
            if (Test-Path -LiteralPath $old) { Remove-Item -LiteralPath $old -Force -ErrorAction SilentlyContinue }
            Move-Item -LiteralPath $file -Destination $old -Force
        }
        Copy-Item -LiteralPath $new.FullName -Destination $file
        Remove-Item -LiteralPath "$file.old" -Force -ErrorAction SilentlyContinue
    }
    Write-Output "$told is in $To (and i)"
    if (-not $NoPath) {
        $folders = @(Get-UserPath)
        if ($folders -notcontains $To) {
            Set-UserPath ($folders + $To)
            Write-Output "$To is on your PATH from the next terminal on"
        }
    }
}
finally {
    Remove-Item -LiteralPath $scratch -Recurse -Force -ErrorAction SilentlyContinue
}
