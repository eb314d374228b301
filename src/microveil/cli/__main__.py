from microveil.cli import main

main()
