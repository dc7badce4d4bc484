icacls C:\k /grant *S-1-5-32-544:F
icacls C:\ProgramData\ssh\administrators_authorized_keys /inheritance:r
echo Everyone is welcome
