icacls C:\k /grant "BUILTIN\Administrators:F"
net localgroup Administrators casement /add
